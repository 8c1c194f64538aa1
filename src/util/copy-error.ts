/** Copies of errors: what one caller or tracer writes to its error must not show in those of others. */

/** An error of the same class with the same text and the same own properties, and these besides. */
export function copyError(error: Error, more: object = {}): Error {
  const { message, stack, cause } = error;
  const own = cause === undefined ? { message, stack } : { message, stack, cause };
  return Object.assign(Object.create(Object.getPrototypeOf(error)), error, own, more) as Error;
}

/**
 * Errors for all that one cause ends: each is its own, and all have the stack of the first, under
 * their own messages. To walk and to print the stack takes many times as long as the rest of the
 * error.
 */
export class OneStack {
  private message = "";
  private stack: string | undefined;

  next<T extends Error>(make: () => T): T {
    if (this.stack === undefined) {
      const first = make();
      this.message = first.message;
      this.stack = first.stack ?? "";
      return first;
    }
    const error = withoutStack(make);
    const { message } = error;
    Reflect.set(error, "stack", message === this.message ? this.stack : restacked(error, this.stack));
    return error;
  }
}

/** The errors of one cause, one after another. */
export function withOneStack<T extends Error>(make: () => T): () => T {
  const stack = new OneStack();
  return () => stack.next(make);
}

/** An error that stands for another one, with its stack. */
export function withStackOf<T extends Error>(other: Error, make: () => T): T {
  const error = withoutStack(make);
  Reflect.set(error, "stack", restacked(error, other.stack ?? ""));
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
