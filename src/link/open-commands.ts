/**
 * Counts the unsettled commands of callers, for the report of `quit` with a time limit. The client's own
 * commands and given-up ones do not count.
 */

import { type Command, CommandState, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import type { Link } from "./link";

export class OpenCommands {
  /** Written, now or to a lost connection, and not answered: they may have run. */
  unanswered = 0;
  unsent = 0;

  get isEmpty(): boolean {
    return this.unanswered === 0 && this.unsent === 0;
  }

  /** Commands that are currently at no server: possibly written before, and returned. */
  addAll(commands: Iterable<Command>): void {
    for (const command of commands) this.add(command, false);
  }

  /** Commands that wait for a connection, and those at it. */
  addLink({ offline, connection }: Pick<Link, "offline" | "connection">): void {
    this.addAll(offline.pending());
    for (const command of connection?.queue.pending() ?? []) {
      this.add(command, command.state === CommandState.Sent);
    }
  }

  private add({ isSettled, origin, spec, mayHaveRun }: Command, isWritten: boolean): void {
    const isCallers = origin === Origin.User || origin === Origin.Part;
    if (isSettled || !isCallers || (spec.flags & CommandFlag.Quit) !== 0) return;
    if (mayHaveRun || isWritten) this.unanswered++;
    else this.unsent++;
  }
}
