/**
 * Node-style callbacks beside promises. A callback hears `(null, result)`, just `(null)` when the
 * result is undefined, or `(error)`. What it throws becomes an uncaught exception of a later tick:
 * it neither unwinds the client nor is it swallowed.
 */

export type Callback<T = unknown> = (error?: Error | null, result?: T) => void;

/** Removes and returns the callback at the end of a call's arguments, if there is one. */
export function takeCallback(args: unknown[]): Callback<unknown> | null {
  return typeof args[args.length - 1] === "function" ? (args.pop() as Callback<unknown>) : null;
}

/** Calls a callback of the user. */
export function callSafely<T>(callback: Callback<T>, error: Error | null, result?: T): void {
  try {
    if (error !== null) callback(error);
    else if (result === undefined) callback(null);
    else callback(null, result);
  } catch (thrown) {
    process.nextTick(() => {
      throw thrown;
    });
  }
}

/** Tells the callback how the promise ends, and returns the promise. Its failure counts as handled. */
export function asCallback<T>(promise: Promise<T>, callback?: Callback<T>): Promise<T> {
  if (typeof callback !== "function") return promise;
  promise.then(
    (result) => callSafely(callback, null, result),
    (error: Error) => callSafely(callback, error),
  );
  return promise;
}
