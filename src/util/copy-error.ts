/**
 * Copies of errors: a property that one caller or tracer sets on its error must not appear on other callers'
 * errors. A copy is a native error too, so `structuredClone` and worker threads keep its message.
 */

import { callsIn, headOf } from "./error-hint";
import { withoutStack } from "./without-stack";

/** An error of the same class with the same text, the same own properties, and the additional ones. */
export function copyError(error: Error, more: object = {}): Error {
  return Object.assign(copierOf(error)(), more);
}

/** Returns a function that copies the error. The engine captures no stack for a copy. */
function copierOf(error: Error): () => Error {
  const prototype = Object.getPrototypeOf(error) as object;
  const { message, stack = "" } = error;
  const options = Object.hasOwn(error, "cause") ? { cause: error.cause } : undefined;
  const shown: [name: string, value: unknown][] = [];
  const hidden: [name: string, descriptor: PropertyDescriptor][] = [];
  for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
    if (name === "message" || name === "stack" || name === "cause") continue;
    if (descriptor.enumerable === true) shown.push([name, descriptor.value]);
    else hidden.push([name, descriptor]);
  }
  return () => {
    const copy = withoutStack(() => new Error(message, options));
    Object.setPrototypeOf(copy, prototype);
    for (const [name, value] of shown) Reflect.set(copy, name, value);
    for (const [name, descriptor] of hidden) Object.defineProperty(copy, name, descriptor);
    Reflect.set(copy, "stack", stack);
    return copy;
  };
}

/** Errors for all commands that one cause ends. Each is a separate error with the stack frames of the first. */
export class OneCause {
  private calls: string | undefined;
  private readonly copiers = new Map<string, () => Error>();

  /** @param kind Errors of the same kind have the same class and message. `make` creates the first one. */
  next(kind: string, make: () => Error): Error {
    const copy = this.copiers.get(kind);
    if (copy !== undefined) return copy();
    const error = this.calls === undefined ? make() : withCalls(this.calls, make);
    this.calls ??= callsIn(error.stack ?? "");
    this.copiers.set(kind, copierOf(error));
    return error;
  }
}

export function withOneStack(make: () => Error): () => Error {
  const cause = new OneCause();
  return () => cause.next("", make);
}

/** A replacement of another error, with the other's stack. */
export function withStackOf<T extends Error>(other: Error, make: () => T): T {
  return withCalls(callsIn(other.stack ?? ""), make);
}

function withCalls<T extends Error>(calls: string, make: () => T): T {
  const error = withoutStack(make);
  Reflect.set(error, "stack", headOf(error) + calls);
  return error;
}
