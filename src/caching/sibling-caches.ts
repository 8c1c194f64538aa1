/**
 * The caches of this process, by server. A command that any client of the process writes holds the keys that
 * it may change in the caches of the same server, from before it is written until it has settled, as a
 * command of the cache's own client does (`Holds`). So a caller that awaited a write on one client finds no
 * older reply in the cache of another one.
 *
 * A client with a cache holds its own keys when a command is issued, and is left out here.
 */

import type { Command } from "../command/command";
import { Effect, effectOf } from "../command/effects";
import { type CommandWriter, type WriteWatcher, writeWatch } from "../command/write-watch";
import { Changes, type Holds } from "./holds";

class SiblingCaches implements WriteWatcher {
  /** By server, then by the client of the connection. The nodes of a cluster share one cache. */
  private readonly byServer = new Map<string, Map<CommandWriter, Holds>>();
  private readonly changes = new WeakMap<CommandWriter, Changes>();

  /** A connection of a client with a cache is ready. Returns the function to call when it is lost. */
  join(client: CommandWriter, holds: Holds): () => void {
    const { serverName } = client;
    const caches = this.byServer.get(serverName) ?? new Map<CommandWriter, Holds>();
    this.byServer.set(serverName, caches.set(client, holds));
    writeWatch.watcher = this;
    return () => this.leave(serverName, client);
  }

  private leave(serverName: string, client: CommandWriter): void {
    const caches = this.byServer.get(serverName);
    caches?.delete(client);
    if (caches?.size === 0) this.byServer.delete(serverName);
    if (this.byServer.size === 0) writeWatch.watcher = null;
  }

  onWritten(command: Command, writer: CommandWriter): void {
    const caches = this.byServer.get(writer.serverName);
    if (caches === undefined || (caches.size === 1 && caches.has(writer))) return;
    const effect = effectOf(command.spec, command.args);
    const isOfClient = effect === Effect.Session || effect === Effect.Tracking;
    if (isOfClient || effect === Effect.None || effect === Effect.Cacheable) return;
    const changes = this.changes.get(writer) ?? new Changes(() => this.others(writer));
    this.changes.set(writer, changes);
    changes.follow(command, effect);
  }

  onLost(writer: CommandWriter): void {
    this.changes.get(writer)?.leave();
  }

  /** All caches of its server but that of the writer itself. */
  private others(writer: CommandWriter): Set<Holds> {
    const caches = this.byServer.get(writer.serverName);
    const others = new Set(caches?.values());
    const own = caches?.get(writer);
    if (own !== undefined) others.delete(own);
    return others;
  }
}

/** The caches of this thread. */
export const siblingCaches = new SiblingCaches();
