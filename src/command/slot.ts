/**
 * The hash slot of a key and of a command. Knows no topology: who owns a slot is the cluster's
 * business. Hash tags are honoured; a prefix must be on the keys already.
 */

import calculateSlot from "cluster-key-slot";
import type { Argument } from "../protocol/resp-types";
import type { CommandSpec } from "./command-spec";
import { firstKeyPosition, keyPositions } from "./key-positions";

/** The command has no key, so any node may serve it. */
export const NO_SLOT = -1;
/** The keys of the command lie in different slots. */
export const MIXED_SLOTS = -2;

export function slotOfKey(key: Argument): number {
  return calculateSlot(key);
}

/** Slot of the first key, or `NO_SLOT`. */
export function slotOf(spec: CommandSpec, args: readonly Argument[]): number {
  const position = firstKeyPosition(spec, args);
  return position < 0 ? NO_SLOT : calculateSlot(args[position] as Argument);
}

/** The slot that all keys share, `NO_SLOT` without keys, `MIXED_SLOTS` if they do not share one. */
export function commonSlotOf(spec: CommandSpec, args: readonly Argument[]): number {
  let slot = NO_SLOT;
  for (const position of keyPositions(spec, args)) {
    const own = calculateSlot(args[position] as Argument);
    if (slot !== NO_SLOT && own !== slot) return MIXED_SLOTS;
    slot = own;
  }
  return slot;
}
