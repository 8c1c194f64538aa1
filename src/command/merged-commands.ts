/** Commands that go as one, as the way of that one sees them. What makes them one is in `merging/`. */

import type { Command } from "./command";

export interface MergedCommands {
  /** It is about to be written: takes the arguments of those that may still be. False if there are none. */
  begin(passes: (member: Command) => boolean): boolean;
  /** All of them, in order. */
  members(): readonly Command[];
  /** The last one that the test is true for. */
  lastOf(isWanted: (member: Command) => boolean): Command | undefined;
  /** How many of them somebody waits for. */
  readonly waiting: number;
  /** True if each of them would have got this error reply by itself; a refusal of the form is remembered. */
  concernsMembers(error: Error): boolean;
  /** One of those behind it has to do with its keys, so that it cannot be sent once more. */
  isOvertaken(member: Command, behind: readonly Command[]): boolean;
}

/** The commands that one stands for; null if it stands for itself. */
export function mergedIn({ extra }: Command): MergedCommands | null {
  return extra === null ? null : (extra.merged as MergedCommands | null);
}
