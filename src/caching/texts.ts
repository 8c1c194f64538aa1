/**
 * Keys and arguments in the form in which a cache compares them. The server names keys by their bytes; only
 * valid UTF-8 has a unique text, so keys with other bytes are not cached.
 */

import { isUtf8 } from "node:buffer";
import type { Argument } from "../protocol/resp-types";

/** A lone surrogate has no UTF-8 encoding: it would be sent as U+FFFD. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Other texts are sent as those of other keys. */
export function isUnicode(text: string): boolean {
  return !LONE_SURROGATE.test(text);
}

/** The text of an argument; null if its bytes are not valid UTF-8. */
export function textOf(arg: Argument): string | null {
  if (typeof arg === "string") return isUnicode(arg) ? arg : null;
  return isUtf8(arg) ? arg.toString() : null;
}

/** The bytes of an argument decoded as UTF-8, with U+FFFD for invalid sequences. */
export function sentTextOf(arg: Argument): string {
  if (typeof arg !== "string") return arg.toString();
  return isUnicode(arg) ? arg : Buffer.from(arg).toString();
}

/** The texts of all arguments; null if one is not text. Returns the given array if all are texts. */
export function argumentTexts(args: readonly Argument[]): readonly string[] | null {
  if (args.every((arg) => typeof arg === "string")) return args as readonly string[];
  const texts = args.map(textOf);
  return texts.includes(null) ? null : (texts as string[]);
}
