/**
 * The hash slot of a key and of a command. Knows no topology: who owns a slot is the cluster's
 * business. Hash tags are honoured; a prefix must be on the keys already. A slot is always that
 * of the bytes that are sent: a lone surrogate counts as the replacement character it becomes.
 */

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
const CLOSING_BRACE = 0x7d;

const CHECKSUMS = makeChecksums();

/** The slot of one key. Keys of ASCII letters, nearly all there are, cost no allocation. */
export function slotOfKey(key: Argument): number {
  if (typeof key !== "string") return slotOfBytes(key);
  const opening = key.indexOf("{");
  const closing = opening < 0 ? -1 : key.indexOf("}", opening + 1);
  // Only the first brace counts, and only if something stands between it and the next closing one.
  return closing > opening + 1 ? slotOfText(key, opening + 1, closing) : slotOfText(key, 0, key.length);
}

function slotOfText(key: string, from: number, to: number): number {
  let checksum = 0;
  for (let index = from; index < to; index++) {
    const unit = key.charCodeAt(index);
    if (unit > 127) return slotOfBytes(Buffer.from(key));
    checksum = ((checksum << 8) & 0xffff) ^ (CHECKSUMS[(checksum >> 8) ^ unit] as number);
  }
  return checksum & LAST_SLOT;
}

function slotOfBytes(key: Buffer): number {
  const opening = key.indexOf(OPENING_BRACE);
  const closing = opening < 0 ? -1 : key.indexOf(CLOSING_BRACE, opening + 1);
  return closing > opening + 1 ? slotOfRange(key, opening + 1, closing) : slotOfRange(key, 0, key.length);
}

function slotOfRange(bytes: Buffer, from: number, to: number): number {
  let checksum = 0;
  for (let index = from; index < to; index++) {
    checksum = ((checksum << 8) & 0xffff) ^ (CHECKSUMS[(checksum >> 8) ^ (bytes[index] as number)] as number);
  }
  return checksum & LAST_SLOT;
}

function makeChecksums(): Uint16Array {
  const checksums = new Uint16Array(256);
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
