/** The position of a command among those of its link, for the errors of time limits. It changes nothing. */

import { CommandState } from "../command/command";
import type { SentCommand } from "../command/command-extra";
import type { Connection } from "../connection/connection";
import type { TimeoutDetails } from "../errors";

export type QueuePosition = Pick<TimeoutDetails, "commandsAhead" | "bytesAhead" | "server">;

/** @param offline commands that wait for a connection */
export function queuePosition(
  command: SentCommand,
  connection: Connection | null,
  offline: number,
  server: string,
): QueuePosition {
  const queue = connection?.queue;
  const bytesAhead = connection?.socket?.writableLength ?? 0;
  if (command.state === CommandState.Sent && queue !== undefined && command.extra !== null) {
    return { commandsAhead: Math.max(0, command.extra.place - queue.answered), bytesAhead, server };
  }
  const waiting = (queue?.length ?? 0) + offline;
  return { commandsAhead: Math.max(0, waiting - 1), bytesAhead, server };
}
