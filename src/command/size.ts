/**
 * The weight of commands: the bytes of their arguments (characters of strings). Nothing is counted while
 * commands go their way; a queue is looked at when somebody asks, and a long one in samples.
 */

import type { Command } from "./command";

/** Elements of a queue that are looked at: reading `stats()` may take 20 µs. */
const MOST_LOOKED_AT = 64;

export function sizeOf(command: Command): number {
  let size = 0;
  for (const arg of command.args) size += arg.length;
  return size;
}

/** Steps of this part of a queue fall evenly all over it, and never in time with what is in it. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** The sum of so many sizes; of many an estimate from a few. */
export function estimateSum(count: number, sizeAt: (index: number) => number, most = MOST_LOOKED_AT): number {
  let sum = 0;
  if (count <= most) {
    for (let index = 0; index < count; index++) sum += sizeAt(index);
    return sum;
  }
  for (let step = 0; step < most; step++) sum += sizeAt(Math.floor(((step * GOLDEN) % 1) * count));
  return Math.round((sum / most) * count);
}

/** Of commands that wait. */
export function bytesOf(commands: readonly Command[]): number {
  return estimateSum(commands.length, (index) => sizeOf(commands[index] as Command));
}
