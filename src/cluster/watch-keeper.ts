/**
 * Remembers the watched slots and the connection of each WATCH. A transaction on a watched slot runs only over
 * the connection that has sent the WATCH. If that connection is gone, the keys may have changed unseen, and the
 * transaction is refused instead of committed unguarded.
 */

import { type Command, Origin } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { ownCommand } from "../command/own-command";
import type { Connection } from "../connection/connection";
import { WatchLostError } from "../errors";
import type { Link } from "../link/link";

const GUARD_ENDED = "A transaction on another slot of the node, or UNWATCH, ended the WATCH";

interface Watched {
  readonly link: Link;
  /** Null until the link is connected: the WATCH itself waits in the link. */
  readonly connection: Connection | null;
  /** The number of guards of the link that had ended before. */
  readonly endedGuards: number;
}

export class WatchKeeper {
  private readonly slots = new Map<number, Watched>();

  /** Records a WATCH or UNWATCH that is sent over the link. */
  note(command: Command, link: Link): void {
    const { flags } = command.spec;
    if ((flags & CommandFlag.Unwatch) !== 0) this.unwatchOthers(command, link);
    else if (command.slot >= 0)
      this.slots.set(command.slot, {
        link,
        connection: link.connection,
        endedGuards: link.session.endedGuards,
      });
  }

  /** The reason why a transaction on the slot must not run over the link, or null. Either way its WATCH ends. */
  refusal(slot: number, link: Link): WatchLostError | null {
    if (this.slots.size === 0) return null;
    const watched = this.slots.get(slot);
    if (watched === undefined) return null;
    this.slots.delete(slot);
    const { connection } = watched;
    const isLost = watched.link !== link || (connection !== null && link.connection !== connection);
    if (isLost) return new WatchLostError();
    return watched.endedGuards === link.session.endedGuards ? null : new WatchLostError(GUARD_ENDED);
  }

  /** UNWATCH has no keys and goes to one node: the other connections get one too, for the same caller. */
  private unwatchOthers({ extra }: Command, link: Link): void {
    const others = new Set<Link>();
    for (const watched of this.slots.values()) if (watched.link !== link) others.add(watched.link);
    this.slots.clear();
    for (const other of others) {
      const unwatch = ownCommand(Origin.Client, "unwatch");
      unwatch.ensureExtra().watchUser = extra?.watchUser ?? null;
      // If the WATCH is still queued, the UNWATCH is queued behind it. If its connection was lost, so is the
      // WATCH.
      if (other.isWritable || other.offline.length > 0) other.dispatch(unwatch);
      else other.session.note(unwatch);
    }
  }

  clear(): void {
    this.slots.clear();
  }
}
