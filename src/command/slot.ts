/**
 * The hash slot of a key and of a command, independent of the topology. Hash tags are honoured; a prefix must
 * already be part of the keys. The slot is computed from the bytes that are sent. A lone surrogate is sent as
 * U+FFFD and therefore counts as U+FFFD.
 *
 * The checksum is that of the package cluster-key-slot, which is wrong for keys with an empty first tag and for lone
 * surrogates; slotOfKey works around both (docs/decisions/0020).
 */

import calculateSlot from "cluster-key-slot";
import { ASCII } from "../protocol/ascii";
import type { Argument } from "../protocol/resp-types";
import type { CommandSpec } from "./command-spec";
import { firstKeyPosition, keyPositions } from "./key-positions";

/** The number of slots of a cluster. */
export const SLOT_COUNT = 16_384;
/** The command has no key, so any node may serve it. */
export const NO_SLOT = -1;
/** The keys of the command are in different slots. */
export const MIXED_SLOTS = -2;

const { OPENING_BRACE, LAST } = ASCII;
/** Added to a byte that cluster-key-slot must not take for a brace: its checksum reads the low eight bits only. */
const HIDDEN = 0x100;

/** A list of numbers, which cluster-key-slot accepts, although its types do not say so. */
interface Numbers {
  length: number;
  [place: number]: number;
}

/** The longest key, in characters, that is copied here: the checksum of a Buffer is faster for longer ones. */
const SHORT_KEY = 32;
/**
 * The bytes of a short key, reused because the creation of a Buffer takes as long as the checksum. All
 * elements are set initially: V8 would turn a list that grows into a hash table, which is twice as slow.
 */
const shortKey: Numbers = Object.assign({ length: 0 }, new Array<number>(SHORT_KEY).fill(0));

/** The slot of one key. */
export function slotOfKey(key: Argument): number {
  if (typeof key === "string" && key.length <= SHORT_KEY && hasCopied(key)) return slotOfBytes(shortKey);
  // As bytes: cluster-key-slot encodes a lone surrogate differently, and is slower on strings.
  const bytes = typeof key === "string" ? Buffer.from(key) : key;
  const emptyTag = key.indexOf("{}");
  const isWithoutTag = emptyTag >= 0 && key.indexOf("{") === emptyTag;
  return slotOfBytes(isWithoutTag ? withHiddenBraces(bytes) : bytes);
}

function slotOfBytes(bytes: Numbers): number {
  return calculateSlot(bytes as Buffer);
}

/** Copies the characters of the key to `shortKey`, unless they must be encoded or contain `{}`. */
function hasCopied(key: string): boolean {
  for (let i = 0; i < key.length; i++) {
    const character = key.charCodeAt(i);
    if (character > LAST || (character === OPENING_BRACE && key[i + 1] === "}")) return false;
    shortKey[i] = character;
  }
  shortKey.length = key.length;
  return true;
}

function withHiddenBraces(bytes: Buffer): Numbers {
  return Uint16Array.from(bytes, (byte) => (byte === OPENING_BRACE ? byte + HIDDEN : byte));
}

/** The slot of the first key, or `NO_SLOT`. */
export function slotOf(spec: CommandSpec, args: readonly Argument[]): number {
  const position = firstKeyPosition(spec, args);
  return position < 0 ? NO_SLOT : slotOfKey(args[position] as Argument);
}

/** The slot that all keys share; `NO_SLOT` without keys; `MIXED_SLOTS` if they are in several slots. */
export function commonSlotOf(spec: CommandSpec, args: readonly Argument[]): number {
  let slot = NO_SLOT;
  for (const position of keyPositions(spec, args)) {
    const own = slotOfKey(args[position] as Argument);
    if (slot !== NO_SLOT && own !== slot) return MIXED_SLOTS;
    slot = own;
  }
  return slot;
}
