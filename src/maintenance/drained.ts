/** Whether a connection can be replaced: only blocking commands have no reply yet. */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { CommandQueue } from "../connection/command-queue";

export function isDrained(queue: CommandQueue): boolean {
  if (queue.length === 0) return true;
  if (queue.unsent > 0 || !isBlocking(queue.head())) return false;
  return queue.pending().every(isBlocking);
}

/** The last unanswered command that does not block. */
export function lastOwed(queue: CommandQueue): Command | undefined {
  return queue.lastOf((command) => !isBlocking(command));
}

/** Whether a further command would wait behind a blocking one. */
export function isHeldUp(queue: CommandQueue): boolean {
  return queue.lastOf(isBlocking) !== undefined;
}

function isBlocking(command: Command | undefined): boolean {
  return command !== undefined && (flagsFor(command.spec, command.args) & CommandFlag.Blocking) !== 0;
}
