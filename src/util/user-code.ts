/** Calls functions of the user: their exceptions must not unwind the caller. */

import { isNativeError } from "node:util/types";
import { nextTick } from "./scheduling";

/** The result of the function. If it throws: undefined, and the error is thrown on the next tick. */
export function callUser<T>(work: () => T, onThrown?: () => void): T | undefined {
  try {
    return work();
  } catch (error) {
    throwLater(error);
    onThrown?.();
    return undefined;
  }
}

/** Calls a hook of a tracer. Its errors are not reported, because a report would repeat for each call. */
export function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Throws on the next tick, with an empty stack. */
export function throwLater(error: unknown): void {
  nextTick(() => {
    throw error;
  });
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
}

/** The thrown value if it is an error; otherwise an error with the value as its cause. */
export function toError(thrown: unknown): Error {
  // Errors of another realm (vm contexts, test runners) are not instances of this realm's class.
  if (thrown instanceof Error || isNativeError(thrown)) return thrown;
  return new Error("A function threw a value that is not an Error. The value is the cause of this error.", {
    cause: thrown,
  });
}
