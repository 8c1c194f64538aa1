/**
 * Node-style callbacks in addition to promises. A callback receives `(null, result)`, just `(null)` if the
 * result is undefined, or `(error)`. An exception in it becomes an uncaught exception of a later tick: it
 * neither unwinds the client nor gets lost.
 */

import { throwLater } from "./user-code";

export type Callback<T = unknown> = (error?: Error | null, result?: T) => void;

/** Removes and returns the callback at the end of a call's arguments, if there is one. */
export function takeCallback(args: unknown[]): Callback<unknown> | null {
  return typeof args[args.length - 1] === "function" ? (args.pop() as Callback<unknown>) : null;
}

export function callSafely<T>(callback: Callback<T>, error: Error | null, result?: T): void {
  try {
    if (error !== null) callback(error);
    else if (result === undefined) callback(null);
    else callback(null, result);
  } catch (thrown) {
    throwLater(thrown);
  }
}

export type Teller = (outcome: readonly [error: Error | null, result?: unknown]) => void;

/**
 * Calls the callback with a later outcome. It runs like a callback of a promise: in the async context of this
 * call, and after the callbacks of earlier settled commands. Called directly while a reply is read, it would
 * run in the async context of another request.
 */
export function tellLater(callback: Callback<unknown>): Teller {
  let tell!: Teller;
  const told = new Promise<Parameters<Teller>[0]>((resolve) => {
    tell = resolve;
  });
  void told.then(([error, result]) => callSafely(callback, error, result));
  return tell;
}

/** Passes the outcome of the promise to the callback, and returns the promise. A rejection counts as handled. */
export function asCallback<T>(promise: Promise<T>, callback?: Callback<T>): Promise<T> {
  if (typeof callback !== "function") return promise;
  promise.then(
    (result) => callSafely(callback, null, result),
    (error: Error) => callSafely(callback, error),
  );
  return promise;
}

/**
 * Like `asCallback` of `promise.then(map)`, but without the delay of one microtask, so that the callback
 * keeps its order among those of other commands. `map` must not throw.
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
