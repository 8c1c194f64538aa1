/**
 * Copies of errors: a property that one caller or tracer sets on its error must not appear on other callers'
 * errors. A copy is a native error too, so `structuredClone` and worker threads keep its message.
 */

import { callsIn, headOf } from "./error-hint";
import { withoutStack } from "./without-stack";

/** An error of the same class with the same text, the same own properties, and the additional ones. */
export function copyError(error: Error, more: object = {}): Error {
  return Object.assign(new Template(error).makeCopy(), more);
}

/** A template for many copies of an error. The engine captures no stack for a copy. */
class Template {
  private readonly prototype: object;
  private readonly message: string;
  private readonly stack: string;
  private readonly options: ErrorOptions | undefined;
  private readonly shown: [name: string, value: unknown][] = [];
  /** The non-enumerable properties, except those that every error has. */
  private readonly hidden: [name: string, descriptor: PropertyDescriptor][] = [];

  constructor(error: Error) {
    this.prototype = Object.getPrototypeOf(error) as object;
    this.message = error.message;
    this.stack = error.stack ?? "";
    this.options = Object.hasOwn(error, "cause") ? { cause: error.cause } : undefined;
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
      if (name === "message" || name === "stack" || name === "cause") continue;
      if (descriptor.enumerable === true) this.shown.push([name, descriptor.value]);
      else this.hidden.push([name, descriptor]);
    }
  }

  makeCopy(): Error {
    const copy = withoutStack(() => new Error(this.message, this.options));
    Object.setPrototypeOf(copy, this.prototype);
    for (const [name, value] of this.shown) Reflect.set(copy, name, value);
    for (const [name, descriptor] of this.hidden) Object.defineProperty(copy, name, descriptor);
    Reflect.set(copy, "stack", this.stack);
    return copy;
  }
}

/** Errors for all commands that one cause ends. Each is a separate error with the stack frames of the first. */
export class OneCause {
  private calls: string | undefined;
  private readonly templates = new Map<string, Template>();

  /** @param kind Errors of the same kind have the same class and message. `make` creates the first one. */
  next(kind: string, make: () => Error): Error {
    const template = this.templates.get(kind);
    if (template !== undefined) return template.makeCopy();
    const error = this.calls === undefined ? make() : withCalls(this.calls, make);
    this.calls ??= callsIn(error.stack ?? "");
    this.templates.set(kind, new Template(error));
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
