/**
 * The nodes of a cluster as ordinary clients: each node has one link, and its `Redis` view uses the same one.
 * Derives the options of node connections from those of the cluster.
 */

import type { NodeClient } from "../../cluster/cluster-node";
import type { Seed } from "../../cluster/discovery";
import { type NodeAddress, nodeKey } from "../../cluster/node-address";
import type { Command } from "../../command/command";
import { CommandFlag } from "../../command/command-spec";
import type { ConnectionCounts } from "../../connection/connection-counts";
import { ConnectionClosedError } from "../../errors";
import type { Link } from "../../link/link";
import { Distance } from "../../link/reader-choice";
import { withServerName } from "../../link/socket-options";
import { debugLog } from "../../util/debug";
import type { Caching } from "../caching";
import { PARTS } from "../chain";
import { CHAIN, ClientBase, PASS_BATCH } from "../client-base";
import { passAlone } from "../intercepted";
import type { ClusterOptions } from "../options/cluster-options";
import { NODE_WATCHDOG, type RedisOptions } from "../options/redis-options";
import { EVENTS, LINK, makeOwned, type Redis } from "../redis";
import type { LinkSupervisor } from "../redis-events";

const debug = debugLog("subscriber");

/** The number of commands among which `lastOf` looks for a command of the slot. */
const MOST_LOOKED_AT = 1000;

export class NodeView implements NodeClient {
  readonly link: Link;
  readonly distance: Distance;

  constructor(readonly redis: Redis) {
    this.link = redis[LINK];
    this.distance = new Distance(redis[EVENTS].counts.roundTrips);
  }

  get isIdle(): boolean {
    return this.redis[PARTS].gatheredCommands.length === 0 && this.link.isIdle;
  }

  youngest(): Map<number, Command> {
    const found = new Map<number, Command>();
    const note = (command: Command): boolean => {
      const counts = !command.isSettled && (command.spec.flags & CommandFlag.Blocking) === 0;
      if (counts && !found.has(command.slot)) found.set(command.slot, command);
      return false;
    };
    this.findLast(note);
    return found;
  }

  lastOf(slot: number): Command | null {
    let looks = MOST_LOOKED_AT;
    // After this many, an older command of any slot will do: its reply follows those of all still older ones.
    const isWanted = (command: Command): boolean =>
      !command.isSettled &&
      (command.slot === slot || --looks <= 0) &&
      (command.spec.flags & CommandFlag.Blocking) === 0;
    return this.findLast(isWanted);
  }

  /** The youngest matching command: collected ones are younger than queued ones, which are younger than those in flight. */
  private findLast(isWanted: (command: Command) => boolean): Command | null {
    const { link, redis } = this;
    return (
      redis[PARTS].gatheredCommands.findLast(isWanted) ??
      link.offline.lastOf(isWanted) ??
      link.current.connection?.queue.lastOf(isWanted) ??
      null
    );
  }

  handOn(): void {
    this.redis[PARTS].auto?.flush();
  }

  // Tracers patch `Redis.prototype.sendCommand`: commands for a node then pass through it.
  dispatch(command: Command): void {
    const { redis } = this;
    if (redis.sendCommand === ClientBase.prototype.sendCommand) redis[CHAIN].dispatch(command);
    else void passAlone(redis, command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    this.redis[PASS_BATCH](commands);
  }

  setReadOnly(isReadOnly: boolean): void {
    const { redis } = this;
    redis.options.readOnly = isReadOnly;
    // A running handshake may have sent the opposite; one that has not begun sends the right command itself.
    const { status } = this.link;
    if (status !== "ready" && status !== "connect") return;
    (isReadOnly ? redis.readonly() : redis.readwrite()).catch(() => {});
  }

  async leave(): Promise<void> {
    const { redis } = this;
    if (this.link.status === "wait") {
      await redis[PARTS].leases?.leave();
      redis.disconnect();
    } else {
      await redis.quit().catch((error: Error) => {
        redis.disconnect();
        if (!(error instanceof ConnectionClosedError)) throw error;
      });
    }
  }
}

/** Every client in the pool of a cluster is a view, and every node that the pool lists has one. */
export function viewOf(client: NodeClient | null): NodeView {
  return client as NodeView;
}

export function countsOf(client: NodeClient): ConnectionCounts {
  return viewOf(client).redis[EVENTS].counts;
}

export class ViewFactory {
  /** The settings of individual start nodes, by `host:port`. */
  private own: ReadonlyMap<string, Readonly<Record<string, unknown>>> = new Map();

  /** @param caching The cluster's cache, to which nodes report changes. */
  constructor(
    private readonly options: ClusterOptions,
    private readonly caching: Caching | null,
  ) {}

  useSeeds(seeds: readonly Seed[]): void {
    this.own = new Map(seeds.map(({ address, options }) => [nodeKey(address), options]));
  }

  get usesTls(): boolean {
    return Boolean(this.options.redisOptions?.tls) || [...this.own.values()].some(({ tls }) => Boolean(tls));
  }

  /** A client of a data node. It connects when it is needed, or immediately if the options say so. */
  makeNode(address: NodeAddress, isReadOnly: boolean, supervisor: LinkSupervisor): NodeView {
    const { options } = this;
    const redis = this.make(supervisor, {
      ...this.optionsFor(address),
      readOnly: isReadOnly,
      retryStrategy: options.clusterNodeRetryStrategy ?? null,
      enableAutoPipelining: options.enableAutoPipelining,
      autoPipeliningIgnoredCommands: options.autoPipeliningIgnoredCommands,
      himportFieldsets: options.himportFieldsets,
    });
    if (this.caching !== null) redis[PARTS].track(this.caching.track(redis[LINK]));
    if (options.redisOptions?.lazyConnect === false) redis.connect().catch(() => {});
    return new NodeView(redis);
  }

  /** A short-lived connection that only requests the slot table. */
  makeRefresher(address: NodeAddress): NodeView {
    return this.makeHelper("refresher", address, {}, { enableReadyCheck: false, watchdog: false });
  }

  makeSubscriber(kind: string, address: NodeAddress, supervisor: LinkSupervisor): NodeView {
    return this.makeHelper(kind, address, supervisor, { enableReadyCheck: true });
  }

  /** A connection that is not reconnected. Its name contains its kind. */
  private makeHelper(
    kind: string,
    address: NodeAddress,
    supervisor: LinkSupervisor,
    settings: RedisOptions,
  ): NodeView {
    const own = this.own.get(nodeKey(address))?.["connectionName"];
    const name = own ?? this.options.redisOptions?.connectionName;
    const connectionName = name ? `sluice-cluster(${kind}):${String(name)}` : `sluice-cluster(${kind})`;
    debug("%s connects to %s", connectionName, nodeKey(address));
    const isAlone = { connectionName, retryStrategy: null, enableAutoPipelining: false };
    return new NodeView(this.make(supervisor, { ...this.optionsFor(address), ...isAlone, ...settings }));
  }

  private make(supervisor: LinkSupervisor, options: RedisOptions): Redis {
    return makeOwned({ ...options, lazyConnect: true }, supervisor);
  }

  private optionsFor(address: NodeAddress): RedisOptions {
    const { redisOptions, retryPolicy } = this.options;
    const own = this.own.get(nodeKey(address));
    const merged: Record<string, unknown> = {
      watchdog: NODE_WATCHDOG,
      ...(retryPolicy === undefined ? {} : { retryPolicy }),
      ...redisOptions,
      ...own,
      host: address.host,
      port: address.port,
      db: redisOptions?.db ?? 0,
      // The cluster's cache is in front of the cluster.
      cache: undefined,
      replicas: undefined,
      enableOfflineQueue: true,
    };
    // The scheme of a URL asks for TLS, and `redisOptions` says how.
    if (own?.["tls"] === true) merged["tls"] = redisOptions?.tls || true;
    const { tls } = merged;
    if (tls && address.serverName !== undefined) {
      merged["tls"] = withServerName(tls, address.serverName);
    }
    return merged as RedisOptions;
  }
}
