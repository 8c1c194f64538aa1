/** Calling functions of the user from inside: what they throw must not unwind the caller. */

import { isNativeError } from "node:util/types";
import { nextTick } from "./scheduling";

/**
 * Result of the function; if it throws, undefined, after `onThrown` was called, and the error is
 * thrown on the next tick.
 */
export function callUser<T>(work: () => T, onThrown?: () => void): T | undefined {
  try {
    return work();
  } catch (error) {
    throwLater(error);
    onThrown?.();
    return undefined;
  }
}

/** Throws on the next tick, where nobody's work is unwound. */
export function throwLater(error: unknown): void {
  nextTick(() => {
    throw error;
  });
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
}

/** The thrown value, if it is an error; otherwise an error that has it as its cause. */
export function toError(thrown: unknown): Error {
  // Errors of another realm (vm contexts, test runners) are no instances of this one's class.
  if (thrown instanceof Error || isNativeError(thrown)) return thrown;
  return new Error("Something was thrown that is no error; it is the cause of this one", { cause: thrown });
}
