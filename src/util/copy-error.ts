/** Copies of errors: what one caller or tracer writes to its error must not show in those of others. */

/** An error of the same class with the same text and the same own properties, and these besides. */
export function copyError(error: Error, more: object = {}): Error {
  const { message, stack, cause } = error;
  const own = cause === undefined ? { message, stack } : { message, stack, cause };
  return Object.assign(Object.create(Object.getPrototypeOf(error)), error, own, more) as Error;
}
