/** Node-style callbacks beside promises. */

export type Callback<T = unknown> = (error?: Error | null, result?: T) => void;

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

export function asCallback<T>(promise: Promise<T>, callback?: Callback<T>): Promise<T> {
  if (typeof callback !== "function") return promise;
  promise.then(
    (result) => callSafely(callback, null, result),
    (error: Error) => callSafely(callback, error),
  );
  return promise;
}
