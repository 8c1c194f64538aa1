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

const LAST_SLOT = 16383;
/** Generator of CRC-16/XMODEM, which the cluster specification prescribes. */
const POLYNOMIAL = 0x1021;
const OPENING_BRACE = 0x7b;

let checksums: Uint16Array | null = null;

/** The slot of one key. Keys of ASCII letters, nearly all there are, cost no allocation. */
export function slotOfKey(key: Argument): number {
  if (typeof key !== "string") return calculateSlot(key);
  const table = checksums ?? makeChecksums();
  let checksum = 0;
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    if (unit > 127) return calculateSlot(Buffer.from(key));
    if (unit === OPENING_BRACE) return slotOfTagged(key, index);
    checksum = ((checksum << 8) & 0xffff) ^ (table[(checksum >> 8) ^ unit] as number);
  }
  return checksum & LAST_SLOT;
}

// Only the first brace counts, and only if something stands between it and the next closing one.
function slotOfTagged(key: string, opening: number): number {
  const closing = key.indexOf("}", opening + 1);
  if (closing <= opening + 1) return calculateSlot(Buffer.from(key));
  const tag = key.slice(opening + 1, closing);
  // A brace inside a tag is a letter like any other, so the tag must not be searched for one.
  return tag.includes("{") ? calculateSlot(Buffer.from(key)) : slotOfKey(tag);
}

function makeChecksums(): Uint16Array {
  checksums = new Uint16Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let checksum = byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      checksum = (checksum & 0x8000) === 0 ? checksum << 1 : (checksum << 1) ^ POLYNOMIAL;
    }
    checksums[byte] = checksum;
  }
  return checksums;
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
