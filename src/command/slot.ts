/**
 * The hash slot of a key and of a command. Knows no topology: who owns a slot is the cluster's
 * business. Hash tags are honoured; a prefix must be on the keys already. A slot is always that
 * of the bytes that are sent: a lone surrogate counts as the replacement character it becomes.
 *
 * The checksum is that of the package cluster-key-slot, which is wrong for keys with an empty first tag and for lone
 * surrogates; slotOfKey works around both. Measured against a checksum of our own: 136 instead of 52 ns of CPU for a
 * key of 20 characters, 270 instead of 140 ns for 60.
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
  // As bytes: cluster-key-slot encodes a lone surrogate in its own way, and is slower on strings.
  const bytes = typeof key === "string" ? Buffer.from(key) : key;
  const emptyTag = key.indexOf("{}");
  const isWithoutTag = emptyTag >= 0 && key.indexOf("{") === emptyTag;
  return calculateSlot(isWithoutTag ? withHiddenBraces(bytes) : bytes);
}

/**
 * The whole key counts if its first tag is empty, but cluster-key-slot would go on to the next closing brace. It accepts
 * any list of numbers, which its types do not say.
 */
function withHiddenBraces(bytes: Buffer): Buffer {
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
