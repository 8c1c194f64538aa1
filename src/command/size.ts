/**
 * The size of commands: the bytes of their arguments (characters of strings). Nothing is counted on the data
 * path; a queue is measured on request, and a long one by sampling.
 */

import type { Command } from "./command";

/** The most elements of a queue that are read: `stats()` may take 20 µs. */
const MOST_LOOKED_AT = 64;

export function sizeOf(command: Command): number {
  let size = 0;
  for (const arg of command.args) size += arg.length;
  return size;
}

/** A command, its promise and its places in queues, with Node 20 to 24: 780 to 1,000 bytes, 590 in a pipeline. */
const COMMAND_BYTES = 800;
/** The header of a string, and its place in the list of arguments. */
const ARGUMENT_BYTES = 24;

/** The memory of a command until it has settled, estimated. */
export function costOf(command: Command): number {
  return COMMAND_BYTES + command.args.length * ARGUMENT_BYTES + sizeOf(command);
}

/** Steps of this fraction of a queue spread evenly over it, and never align with a pattern in its content. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** The sum of `count` sizes; estimated from a sample if there are many. */
export function estimateSum(count: number, sizeAt: (index: number) => number, most = MOST_LOOKED_AT): number {
  let sum = 0;
  if (count <= most) {
    for (let index = 0; index < count; index++) sum += sizeAt(index);
    return sum;
  }
  for (let step = 0; step < most; step++) sum += sizeAt(Math.floor(((step * GOLDEN) % 1) * count));
  return Math.round((sum / most) * count);
}

/** The bytes of waiting commands. */
export function bytesOf(commands: readonly Command[]): number {
  return estimateSum(commands.length, (index) => sizeOf(commands[index] as Command));
}
