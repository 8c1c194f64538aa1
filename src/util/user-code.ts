/** Calling functions of the user from inside: what they throw must not unwind the caller. */

/** Result of the function; if it throws, undefined, and the error is thrown on the next tick. */
export function callUser<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
    return undefined;
  }
}
