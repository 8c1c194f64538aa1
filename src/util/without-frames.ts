/** Errors that are made for very many calls at once. */

/**
 * Makes an error whose stack has no frames. A timer or a signal ends any number of calls in one go; the frames
 * would be those of the client, equal for all, and capturing them takes longer than all the rest.
 */
export function withoutFrames<Args extends unknown[], Made extends Error>(
  ErrorClass: new (...args: Args) => Made,
  ...args: Args
): Made {
  const { stackTraceLimit } = Error;
  // Without effect where the intrinsics are frozen.
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return new ErrorClass(...args);
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}
