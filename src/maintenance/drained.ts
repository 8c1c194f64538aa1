/** Whether a connection can be left: it owes no reply, except to commands that the server holds on purpose. */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { CommandQueue } from "../connection/command-queue";

export function isDrained(queue: CommandQueue): boolean {
  if (queue.length === 0) return true;
  if (queue.unsent > 0 || !isBlocking(queue.head())) return false;
  return queue.pending().every(isBlocking);
}

/** The last command whose reply the connection owes before it is drained. */
export function lastOwed(queue: CommandQueue): Command | undefined {
  return queue.lastOf((command) => !isBlocking(command));
}

/** Whether a further command would wait behind one that the server holds on purpose. */
export function isHeldUp(queue: CommandQueue): boolean {
  return queue.lastOf(isBlocking) !== undefined;
}

function isBlocking(command: Command | undefined): boolean {
  return command !== undefined && (flagsFor(command.spec, command.args) & CommandFlag.Blocking) !== 0;
}
