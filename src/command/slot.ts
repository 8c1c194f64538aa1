/**
 * The hash slot of a key and of a command. Knows no topology: who owns a slot is the cluster's
 * business. Hash tags are honoured; a prefix must be on the keys already. A slot is always that
 * of the bytes that are sent: a lone surrogate counts as the replacement character it becomes.
 */

import calculateSlot from "cluster-key-slot";
import type { Argument } from "../protocol/resp-types";
import type { CommandSpec } from "./command-spec";
import { firstKeyPosition, keyPositions } from "./key-positions";

/** The command has no key, so any node may serve it. */
export const NO_SLOT = -1;
/** A cluster has not looked at the command: it belongs to one node's own client. */
export const UNROUTED = -3;
/** The keys of the command lie in different slots. */
export const MIXED_SLOTS = -2;

const OPENING_BRACE = 0x7b;
/** Added to a byte that cluster-key-slot must not take for a brace: its checksum reads the low eight bits only. */
const HIDDEN = 0x100;

/** The slot of one key. */
export function slotOfKey(key: Argument): number {
  // cluster-key-slot encodes a lone surrogate in its own way; the bytes that are sent have U+FFFD.
  const sent = typeof key === "string" && !key.isWellFormed() ? Buffer.from(key) : key;
  const emptyTag = sent.indexOf("{}");
  const isWithoutTag = emptyTag >= 0 && sent.indexOf("{") === emptyTag;
  return calculateSlot(isWithoutTag ? withHiddenBraces(Buffer.from(sent)) : sent);
}

/**
 * The whole key counts if its first tag is empty, but cluster-key-slot would go on to the next closing brace. It accepts
 * any list of numbers, which its types do not say.
 */
function withHiddenBraces(bytes: Uint8Array): Buffer {
  const numbers = Uint16Array.from(bytes, (byte) => (byte === OPENING_BRACE ? byte + HIDDEN : byte));
  return numbers as Uint8Array | Uint16Array as Buffer;
}

/** Slot of the first key, or `NO_SLOT`. */
export function slotOf(spec: CommandSpec, args: readonly Argument[]): number {
  const position = firstKeyPosition(spec, args);
  return position < 0 ? NO_SLOT : slotOfKey(args[position] as Argument);
}

/** The slot that all keys share, `NO_SLOT` without keys, `MIXED_SLOTS` if they do not share one. */
export function commonSlotOf(spec: CommandSpec, args: readonly Argument[]): number {
  let slot = NO_SLOT;
  for (const position of keyPositions(spec, args)) {
    const own = slotOfKey(args[position] as Argument);
    if (slot !== NO_SLOT && own !== slot) return MIXED_SLOTS;
    slot = own;
  }
  return slot;
}
