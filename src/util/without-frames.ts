/** Creates errors for very many calls at the same time. */

/**
 * Wraps the creation of errors so that their stacks have no frames. A timer or a signal may end many calls
 * together; the frames would be those of the client, equal for all, and capturing them is the most expensive
 * part.
 */
export function withoutFrames<Args extends unknown[], Made extends Error>(
  ErrorClass: new (...args: Args) => Made,
  ...args: Args
): Made {
  const { stackTraceLimit } = Error;
  // Has no effect if the intrinsics are frozen.
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return new ErrorClass(...args);
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}
