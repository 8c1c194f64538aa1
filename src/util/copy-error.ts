/** Copies of errors: what one caller or tracer writes to its error must not show in those of others. */

import { INSPECT } from "./inspect";

/** An error of the same class with the same text and the same own properties, and these besides. */
export function copyError(error: Error, more: object = {}): Error {
  const { message, stack, cause } = error;
  const own = cause === undefined ? { message, stack } : { message, stack, cause };
  return Object.assign(Object.create(Object.getPrototypeOf(error)), error, own, more) as Error;
}

/**
 * An error of which many are needed at once. The twins have its message, stack and cause from one
 * prototype, and the rest of their own: a hundred thousand errors of the engine would hold the event
 * loop several times as long as all else that is done about their commands.
 */
class Template {
  private readonly Twin: new () => object;

  constructor(error: Error) {
    const { stack } = error;
    const shared: unknown = Object.getPrototypeOf(error);
    const { code, ...others } = error as Error & { code?: unknown };
    const own = Object.entries(others);
    // Of a class of their own, the engine makes them no larger than they have to be.
    class Twin {
      declare code: unknown;
      [name: string]: unknown;

      constructor() {
        if (code !== undefined) this.code = code;
        for (let index = 0; index < own.length; index++) {
          const [name, value] = own[index] as [string, unknown];
          this[name] = value;
        }
      }
    }
    // By the tag assertion libraries know an error.
    const hidden: PropertyDescriptorMap = {
      [Symbol.toStringTag]: { value: "Error" },
      constructor: { value: error.constructor },
      // Node 24 and later print the cause of an error only if it is the error's own.
      [INSPECT]: { value: showWhole },
    };
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
      if (descriptor.enumerable !== true) hidden[name] = descriptor;
    }
    // An accessor of the engine in some versions, which only its own errors can read.
    hidden["stack"] = { value: stack, writable: true, configurable: true };
    Object.defineProperties(Object.setPrototypeOf(Twin.prototype, shared as object), hidden);
    this.Twin = Twin;
  }

  makeTwin(): Error {
    return new this.Twin() as Error;
  }
}

/** The error that is printed in the place of a twin: it has all of it by itself. */
function showWhole(this: object): object {
  const twins = Object.getPrototypeOf(this) as object;
  const { [INSPECT]: _, ...whole } = Object.getOwnPropertyDescriptors(twins) as PropertyDescriptorMap;
  return Object.assign(Object.create(Object.getPrototypeOf(twins) as object, whole) as object, this);
}

/** Errors for all that one cause ends: each is its own, and all have the calls of the first in their stacks. */
export class OneCause {
  private stack: string | undefined;
  private readonly templates = new Map<string, Template>();

  /** @param kind Errors of the same kind have the same class and message. `make` is asked for the first. */
  next(kind: string, make: () => Error): Error {
    const template = this.templates.get(kind);
    if (template !== undefined) return template.makeTwin();
    const error = this.stack === undefined ? make() : withStack(this.stack, make);
    this.stack ??= error.stack ?? "";
    this.templates.set(kind, new Template(error));
    return error;
  }
}

/** The errors of one cause, one after another. */
export function withOneStack(make: () => Error): () => Error {
  const cause = new OneCause();
  return () => cause.next("", make);
}

/** An error that stands for another one, with its stack. */
export function withStackOf<T extends Error>(other: Error, make: () => T): T {
  return withStack(other.stack ?? "", make);
}

function withStack<T extends Error>(stack: string, make: () => T): T {
  const error = withoutStack(make);
  Reflect.set(error, "stack", restacked(error, stack));
  return error;
}

/** An error that nobody asks for the place where it was made. */
export function withoutStack<T extends Error>(make: () => T): T {
  const { stackTraceLimit } = Error;
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return make();
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}

/** The calls of a stack under the head of another error. */
function restacked({ name, message }: Error, stack: string): string {
  const calls = stack.indexOf("\n    at ");
  return calls < 0 ? `${name}: ${message}` : `${name}: ${message}${stack.slice(calls)}`;
}
