/**
 * Determines from its arguments whether a call blocks, and for how long. Times are in milliseconds. The
 * limits of the client are not included.
 */

import type { Argument } from "../protocol/resp-types";
import { CommandFlag, type CommandSpec } from "./command-spec";
import { isWord } from "./key-positions";

/** BLMOVEM source destination LEFT|RIGHT LEFT|RIGHT timeout … */
const FIFTH = 4;

/** The blocking time in the arguments; 0: without limit; null: the call does not block, or has no readable time. */
export function blockingTimeMs(spec: CommandSpec, args: readonly Argument[]): number | null {
  const flags = spec.flags;
  if ((flags & CommandFlag.TimeoutLast) !== 0) return milliseconds(args[args.length - 1], 1000);
  if ((flags & CommandFlag.TimeoutFirst) !== 0) return milliseconds(args[0], 1000);
  if ((flags & CommandFlag.TimeoutFifth) !== 0) return milliseconds(args[FIFTH], 1000);
  if ((flags & CommandFlag.BlockOption) === 0) return null;
  const position = blockPosition(args);
  return position < 0 ? null : milliseconds(args[position + 1], 1);
}

/** Like `blockingTimeMs`, also for WAIT and WAITAOF, which wait for replicas instead of data. */
export function heldTimeMs(spec: CommandSpec, args: readonly Argument[]): number | null {
  if ((spec.flags & CommandFlag.Waits) !== 0) return milliseconds(args[args.length - 1], 1);
  return blockingTimeMs(spec, args);
}

// [GROUP group consumer] [COUNT n] [BLOCK ms] [NOACK] STREAMS …: names may look like options.
/** The position of the option BLOCK of XREAD and XREADGROUP, or -1. */
export function blockPosition(args: readonly Argument[]): number {
  let index = 0;
  while (index < args.length) {
    const word = args[index];
    if (isWord(word, "BLOCK")) return index;
    if (isWord(word, "STREAMS")) return -1;
    if (isWord(word, "GROUP")) index += 3;
    else index += isWord(word, "COUNT") ? 2 : 1;
  }
  return -1;
}

function milliseconds(arg: Argument | undefined, unitMs: number): number | null {
  if (arg === undefined || arg.length === 0) return null;
  const value = Number(typeof arg === "string" ? arg : arg.toString("latin1"));
  return Number.isFinite(value) && value >= 0 ? value * unitMs : null;
}
