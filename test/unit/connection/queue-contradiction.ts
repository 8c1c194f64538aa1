/** Compares the counters of a command queue, which follow from its commands, with those commands. */

import { type Command, CommandState } from "../../../src/command/command";
import type { CommandQueue } from "../../../src/connection/command-queue";

interface Stretch {
  readonly places: readonly (Command | undefined)[];
  readonly next: number;
  readonly written: number;
  readonly end: number;
}

interface Inside {
  readonly stretches: { toArray(): Stretch[] };
  readonly first: Stretch;
  readonly writing: Stretch;
  readonly last: Stretch;
  readonly writingAt: number;
  readonly held: number;
}

/** The first counter that does not match, or null. */
export function contradictionIn(queue: CommandQueue): string | null {
  const inside = queue as unknown as Inside;
  const all = inside.stretches.toArray();
  const count = (each: (stretch: Stretch) => number): number =>
    all.reduce((sum, stretch) => sum + each(stretch), 0);
  const ends = [all[0], all[inside.writingAt], all.at(-1)];
  if (ends.some((one, index) => one !== [inside.first, inside.writing, inside.last][index])) return "ends";
  const counters = {
    held: [inside.held, count(({ next, end }) => end - next)],
    unsent: [queue.unsent, count(({ written, end }) => end - written)],
    inFlight: [
      queue.inFlight,
      count(
        ({ places, next, written }) =>
          places.slice(next, written).filter((one) => one?.state !== CommandState.Dropped).length,
      ),
    ],
  };
  for (const [name, [counter, counted]] of Object.entries(counters))
    if (counter !== counted) return `${name} is ${counter}, not ${counted}`;
  return null;
}
