/**
 * The hint of an error: its probable cause and a remedy. The message of an error from a server or a socket
 * stays unchanged, because programs compare it. The hint is a property of the error and a line of its stack.
 */

/** The beginning of the first frame in a stack. */
const CALLS = "\n    at ";

/** Adds a hint to the error. An error has at most one. */
export function addHint<T extends Error>(error: T, hint: string | null | undefined): T {
  if (hint === null || hint === undefined || hintOf(error) !== undefined) return error;
  const stack = error.stack ?? String(error);
  const at = stack.indexOf(CALLS);
  const head = at < 0 ? stack : stack.slice(0, at);
  // Not enumerable, because the stack contains it already and `util.inspect` would list it twice. Has no effect
  // on a frozen error.
  Reflect.defineProperty(error, "hint", { value: hint, writable: true, configurable: true });
  Reflect.set(error, "stack", head + hintLine(hint) + stack.slice(head.length));
  return error;
}

/** Errors that another attempt cannot fix, such as an HTTP port: commands do not wait for another attempt. */
const certain = new WeakSet<Error>();

export function markCertain<T extends Error>(error: T): T {
  certain.add(error);
  return error;
}

export function isCertain(error: Error): boolean {
  return certain.has(error);
}

export function hintOf(error: unknown): string | undefined {
  const hint = (error as { hint?: unknown } | null | undefined)?.hint;
  return typeof hint === "string" ? hint : undefined;
}

/** The beginning of a stack: name, message and hint. */
export function headOf(error: Error): string {
  const hint = hintOf(error);
  return `${error.name}: ${error.message}${hint === undefined ? "" : hintLine(hint)}`;
}

/** The frames of a stack, each on a line, with a leading line break. */
export function callsIn(stack: string): string {
  const at = stack.indexOf(CALLS);
  return at < 0 ? "" : stack.slice(at);
}

function hintLine(hint: string): string {
  return `\n  Hint: ${hint}`;
}
