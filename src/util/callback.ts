/**
 * Node-style callbacks beside promises. A callback hears `(null, result)`, just `(null)` when the
 * result is undefined, or `(error)`. What it throws becomes an uncaught exception of a later tick:
 * it neither unwinds the client nor is it swallowed.
 */

import { nextTick } from "./scheduling";

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
    nextTick(() => {
      throw thrown;
    });
  }
}

/** Takes an outcome: `[null, result]` or `[error]`. */
export type Teller = (outcome: readonly [error: Error | null, result?: unknown]) => void;

/**
 * Calls the callback with an outcome that comes later. It runs where callbacks of promises run: in
 * the asynchronous context of this call, and behind the callbacks of all that settled before. A
 * call from the place where the reply is read would lend it the context of another request.
 */
export function tellLater(callback: Callback<unknown>): Teller {
  let tell!: Teller;
  const told = new Promise<Parameters<Teller>[0]>((resolve) => {
    tell = resolve;
  });
  void told.then(([error, result]) => callSafely(callback, error, result));
  return tell;
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

/**
 * As `asCallback` of `promise.then(map)`, with the callback in its place among those of other
 * commands: it would come one step late. `map` must not throw.
 */
export function asMappedCallback<T, U>(
  promise: Promise<T>,
  map: (result: T) => U,
  callback?: Callback<U>,
): Promise<U> {
  const mapped = promise.then(map);
  if (typeof callback !== "function") return mapped;
  mapped.catch(() => {});
  promise.then(
    (result) => callSafely(callback, null, map(result)),
    (error: Error) => callSafely(callback, error),
  );
  return mapped;
}
