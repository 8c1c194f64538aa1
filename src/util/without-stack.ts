/**
 * Creates errors whose stacks have no frames, because their place in the code is irrelevant. Capturing the frames is
 * the most expensive part, and one event may end many calls.
 */
export function withoutStack<T extends Error>(make: () => T): T {
  const { stackTraceLimit } = Error;
  // Has no effect if the intrinsics are frozen.
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return make();
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}
