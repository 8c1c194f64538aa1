/**
 * The means by which the handlers of all families read their arguments, and errors that they share.
 */

import { parseFloatText } from "../protocol/numbers";
import { ErrorReply } from "../protocol/reply";

const SYNTAX = "ERR syntax error";
export const NO_SUCH_KEY = "ERR no such key";
export const NOT_POSITIVE = "ERR value is out of range, must be positive";

export function syntaxError(): ErrorReply {
  return new ErrorReply(SYNTAX);
}

/** The argument at a place that the arity guarantees. */
export function at(args: readonly string[], index: number): string {
  return args[index] as string;
}

/** An option word in upper case. */
export function word(args: readonly string[], index: number): string {
  return (args[index] ?? "").toUpperCase();
}

/** The argument behind an option; a syntax error if there is none. */
export function following(args: readonly string[], index: number): string {
  const value = args[index + 1];
  if (value === undefined) throw syntaxError();
  return value;
}

/** Start and end of a range with negative indexes, both included; null if it is empty. */
export function clampRange(start: number, end: number, size: number): { start: number; end: number } | null {
  const from = Math.max(0, start < 0 ? start + size : start);
  const to = Math.min(size - 1, end < 0 ? end + size : end);
  return from > to || from >= size ? null : { start: from, end: to };
}

/** The time limit of a blocking command in milliseconds; given in seconds, with decimals. */
export function blockingTimeout(text: string): number {
  const seconds = parseFloatText(text);
  if (seconds === null) throw new ErrorReply("ERR timeout is not a float or out of range");
  if (seconds < 0) throw new ErrorReply("ERR timeout is negative");
  const milliseconds = Math.ceil(seconds * 1000);
  if (milliseconds > Number.MAX_SAFE_INTEGER) throw new ErrorReply("ERR timeout is out of range");
  return milliseconds;
}

/** A subcommand whose arguments it does not understand. */
export function wrongWords(command: string, subcommand: string): string {
  return `ERR unknown subcommand or wrong number of arguments for '${subcommand}'. Try ${command} HELP.`;
}
