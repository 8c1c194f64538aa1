/** Where a command stands on its way to a server: what its caller is told when its time is up. */

import { type Command, CommandState } from "../command/command";
import type { Link } from "./link";

export interface Whereabouts {
  /** Commands before it that are not answered either. */
  readonly commandsAhead: number;
  /** Bytes that the socket still has to take. */
  readonly bytesAhead: number;
  /** `host:port` or path of the server. */
  readonly server: string;
}

export function whereaboutsOf(link: Link, command: Command): Whereabouts {
  const { connection, offline, server } = link;
  const queue = connection?.queue;
  const bytesAhead = connection?.socket?.writableLength ?? 0;
  if (command.state === CommandState.Sent && queue !== undefined && command.extra !== null) {
    return { commandsAhead: Math.max(0, command.extra.place - queue.answered), bytesAhead, server };
  }
  const waiting = (queue?.length ?? 0) + offline.length;
  return { commandsAhead: Math.max(0, waiting - 1), bytesAhead, server };
}
