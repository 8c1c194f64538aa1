/** Makes replies of two runs comparable: what is left to chance becomes an outline or is sorted. */

import type { CorpusCall } from "./command-corpus";

/** In which order a server walks its tables is left to chance. */
const UNORDERED =
  /^(scan|sscan|hscan|sdiff|sinter|sunion|smembers|keys|config GET|command|pubsub|acl|function)\b/i;

/** The rest of a reply whose values are left to chance: its types. */
function outline(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return "Buffer";
  if (Array.isArray(value)) {
    const kinds = value.map((element) => JSON.stringify(outline(element)));
    return [...new Set(kinds)].filter((text) => text !== "[]").sort();
  }
  return typeof value;
}

function sorted(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value
    .map((element) => JSON.stringify(sorted(element)))
    .sort()
    .map((text) => JSON.parse(text));
}

export function comparable(call: CorpusCall, value: unknown): unknown {
  if (call.isVolatile) return outline(value);
  return UNORDERED.test(call.text) ? sorted(value) : value;
}

/** The beginning of an error's line; the rest may name what differs between two runs. */
export function errorText(error: Error): string {
  return `error: ${error.message.split(" ").slice(0, 4).join(" ")}`;
}
