/** A merged command, as links and connections see it. `merging/` creates merged commands. */

import type { Command } from "./command";

export interface MergedCommands {
  /**
   * Called before it is written: collects the arguments of the members that may still run. Returns false if all
   * have ended.
   */
  begin(passes: (member: Command) => boolean): boolean;
  /** All members, in order. */
  members(): readonly Command[];
  /** The last member that matches the test. */
  lastOf(isWanted: (member: Command) => boolean): Command | undefined;
  /** The number of members with a waiting caller. */
  readonly waiting: number;
  /**
   * True if each member would have received this error reply on its own; remembers that the server refuses the
   * merged form.
   */
  concernsMembers(error: Error): boolean;
  /** A command behind it uses its keys, so it cannot be sent once more. */
  isOvertaken(member: Command, behind: readonly Command[]): boolean;
}

/** The commands that one command represents; null for an ordinary command. */
export function mergedIn({ extra }: Command): MergedCommands | null {
  return extra === null ? null : (extra.merged as MergedCommands | null);
}
