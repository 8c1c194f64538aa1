/**
 * Keys and arguments in the form in which a cache compares them. The server names keys by their bytes; only
 * valid UTF-8 has a unique text, so keys with other bytes are not cached.
 */

import { isUtf8 } from "node:buffer";
import type { Argument } from "../protocol/resp-types";

/** The text of an argument; null if its bytes are not valid UTF-8. A lone surrogate would be sent as U+FFFD. */
export function textOf(arg: Argument): string | null {
  if (typeof arg === "string") return arg.isWellFormed() ? arg : null;
  return isUtf8(arg) ? arg.toString() : null;
}

/** The bytes of an argument decoded as UTF-8, with U+FFFD for invalid sequences. */
export function sentTextOf(arg: Argument): string {
  return typeof arg === "string" ? arg.toWellFormed() : arg.toString();
}

/** The texts of all arguments; null if one is not text. Returns the given array if all are texts. */
export function argumentTexts(args: readonly Argument[]): readonly string[] | null {
  if (args.every((arg) => typeof arg === "string")) return args as readonly string[];
  const texts = args.map(textOf);
  return texts.includes(null) ? null : (texts as string[]);
}
