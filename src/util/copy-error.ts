/** Copies of errors: what one caller or tracer writes to its error must not show in those of others. */

/** An error of the same class with the same text and the same own properties, and these besides. */
export function copyError(error: Error, more: object = {}): Error {
  const { message, stack, cause } = error;
  const own = cause === undefined ? { message, stack } : { message, stack, cause };
  return Object.assign(Object.create(Object.getPrototypeOf(error)), error, own, more) as Error;
}

/**
 * Errors for all that one cause ends: each has its own, and all have the stack of the first. To
 * walk and to print the stack takes many times as long as the rest of the error.
 */
export function withOneStack<T extends Error>(make: () => T): () => T {
  let stack: string | undefined;
  return () => {
    if (stack === undefined) {
      const first = make();
      stack = first.stack ?? "";
      return first;
    }
    const { stackTraceLimit } = Error;
    Reflect.set(Error, "stackTraceLimit", 0);
    try {
      const error = make();
      Reflect.set(error, "stack", stack);
      return error;
    } finally {
      Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
    }
  };
}
