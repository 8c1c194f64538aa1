/** The result of `stats()` of the clients: frozen objects. Reading them allocates; counting does not. */

import type { CacheStats } from "../caching/cache-report";
import type { Command } from "../command/command";
import type { CallCounts } from "../command/promise-completion";
import { bytesOf } from "../command/size";
import type { ConnectionCounts } from "../connection/connection-counts";
import type { FailoverStats } from "../failover/monitor";
import type { BlockingLease } from "../leases/blocking-lease";
import type { Admission } from "../link/admission";
import type { Link } from "../link/link";
import { clockMs } from "../util/scheduling";

/**
 * Counts of calls of the client, which only increase. `issued` minus `fulfilled` and `failed` is the number of
 * unsettled calls.
 */
export interface CommandStats {
  /**
   * All calls, including those of pipelines and transactions (also MULTI and EXEC) and those answered by the
   * cache.
   */
  readonly issued: number;
  /** Successful calls. A pipeline is counted when all of it has settled. */
  readonly fulfilled: number;
  readonly failed: number;
  /** Failures by the first word of the error reply (`WRONGTYPE`), or the code of the client's own error. */
  readonly errors: Readonly<Record<string, number>>;
}

/** Writes to the socket. The counts only increase. */
export interface FlushStats {
  readonly count: number;
  /** Written commands, including those of the client itself (handshakes) and resent ones. */
  readonly commands: number;
  /** Commands for each flush; 0 before the first. */
  readonly mean: number;
  /** Flushes by size: `sizes[i]` had at least 2 to the power of i commands and fewer than twice as many. */
  readonly sizes: readonly number[];
}

/** Connections of the client. The counts only increase. */
export interface ConnectionStats {
  readonly attempts: number;
  /** Attempts that led to a ready connection. */
  readonly opened: number;
  /** Ready connections that ended unexpectedly. */
  readonly lost: number;
  /** Written commands that returned to the queue because their connection was lost. */
  readonly resent: number;
  /** Probes of a silent server over a second connection. */
  readonly probes: number;
}

/** Waiting commands, by reason. */
export interface QueueStats {
  /** Waiting for a connection. */
  readonly offline: number;
  /** Waiting for the next automatic batch, or for a connection of `blockingConnections`. */
  readonly gathered: number;
  /** Waiting for the next flush. */
  readonly unsent: number;
  /** Waiting for their reply. */
  readonly inFlight: number;
  /**
   * The same in bytes of arguments (characters of strings). For a queue of more than 64 commands, it is an estimate:
   * the mean of a sample spread over the queue, times the number of commands.
   */
  readonly offlineBytes: number;
  readonly gatheredBytes: number;
  readonly unsentBytes: number;
  readonly inFlightBytes: number;
  /** Bytes that the socket buffers because the system accepts no more. */
  readonly socketBytes: number;
}

/**
 * The time from a flush to its first reply, in milliseconds; null before the first. Blocking commands are
 * excluded.
 */
export interface RoundTripStats {
  /** Moving mean; the last round trip has a weight of one eighth. */
  readonly meanMs: number | null;
  /** 99th percentile of the last minute, with an error of at most 20 %. */
  readonly p99Ms: number | null;
  /** Measured round trips; at most one is measured at a time. */
  readonly count: number;
}

/** Periods in which the system accepted no bytes. The counts only increase. */
export interface StallStats {
  readonly count: number;
  /** Total milliseconds. */
  readonly ms: number;
}

/** The amounts that the option `bounds` limits. */
export interface BoundStats {
  /** Commands that are admitted and not settled, and their memory in bytes. */
  readonly commands: number;
  readonly bytes: number;
  /** Commands that wait to be admitted. */
  readonly waiting: number;
}

interface Traffic {
  readonly flushes: FlushStats;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly stalls: StallStats;
  readonly connections: ConnectionStats;
}

/** Metrics of one server. */
export interface LinkStats extends Traffic {
  readonly status: string;
  /** `host:port` or the path of the unix socket. */
  readonly server: string;
  readonly queues: QueueStats;
  readonly roundTrip: RoundTripStats;
  /** Active subscriptions: channels, patterns and shard channels. */
  readonly subscriptions: number;
}

/** Metrics of one replica. */
export interface ReplicaStats extends LinkStats {
  /** True while the replica is connected and follows its primary. */
  readonly takesReads: boolean;
}

/** The result of `redis.stats()`. */
export interface RedisStats extends LinkStats {
  readonly commands: CommandStats;
  /** Null without the option `bounds`. */
  readonly bounds: BoundStats | null;
  /** The number of automatic batches that may currently be unanswered; null without auto-pipelining. */
  readonly window: number | null;
  /** Null without the option `cache`. */
  readonly cache: CacheStats | null;
  /** By `host:port`; null without the option `replicas`. */
  readonly replicas: Readonly<Record<string, ReplicaStats>> | null;
  /** Null without the option `failover`. */
  readonly failover: FailoverStats | null;
}

/** Commands and transactions that a node redirected or deferred, by its reply. The counts only increase. */
export interface RedirectStats {
  readonly moved: number;
  readonly ask: number;
  readonly tryAgain: number;
  readonly clusterDown: number;
  /** LOADING, MASTERDOWN, READONLY and similar replies. */
  readonly other: number;
}

/** The result of `cluster.stats()`: totals of all nodes, including former ones. */
export interface ClusterStats extends Traffic {
  readonly status: string;
  readonly commands: CommandStats;
  /** Null without the option `bounds`. */
  readonly bounds: BoundStats | null;
  readonly redirects: RedirectStats;
  /** Null without the option `cache`. */
  readonly cache: CacheStats | null;
  /** `offline` also contains commands that wait for the cluster, or for their turn after a redirect. */
  readonly queues: QueueStats;
  /** By `host:port`. */
  readonly nodes: Readonly<Record<string, LinkStats>>;
}

interface Surroundings {
  readonly status: string;
  /** The address of the server. */
  readonly server: string;
  readonly gathered: readonly Command[];
  readonly lease: BlockingLease | null;
}

/** @param answered Calls that a cache has answered before they became commands. */
export function readCommands(counts: CallCounts, answered: number): CommandStats {
  const { issued, fulfilled, failed, errors } = counts;
  return Object.freeze({
    issued: issued + answered,
    fulfilled: fulfilled + answered,
    failed,
    errors: Object.freeze(Object.fromEntries(errors)),
  });
}

export function readBounds(admission: Admission | null): BoundStats | null {
  if (admission === null) return null;
  const { commands, bytes, waitingCount } = admission;
  return Object.freeze({ commands, bytes, waiting: waitingCount });
}

export function readLink(link: Link, counts: ConnectionCounts, surroundings: Surroundings): LinkStats {
  const { status, server, gathered, lease } = surroundings;
  const { connection, offline, inFlight, queue } = link;
  const { meanMs, count } = counts.roundTrips;
  return Object.freeze({
    status,
    server,
    ...readTraffic(counts),
    queues: Object.freeze({
      offline: offline.length,
      gathered: gathered.length + (lease?.waitingCount ?? 0),
      unsent: queue?.unsent ?? 0,
      inFlight,
      offlineBytes: offline.bytes,
      gatheredBytes: bytesOf(gathered) + (lease?.waitingBytes ?? 0),
      unsentBytes: queue?.unsentBytes ?? 0,
      inFlightBytes: queue?.bytesInFlight ?? 0,
      socketBytes: connection?.socket?.writableLength ?? 0,
    }),
    roundTrip: Object.freeze({ meanMs, p99Ms: counts.roundTrips.p99Ms(clockMs()), count }),
    subscriptions: link.subscriptions.count,
  });
}

interface ClusterFigures extends Pick<ClusterStats, "status" | "commands" | "bounds" | "cache"> {
  readonly nodes: readonly LinkStats[];
  /** Of all current and former nodes. */
  readonly counts: ConnectionCounts;
  readonly redirects: RedirectStats;
  /** Commands that are not assigned to a node yet. */
  readonly waiting: readonly Command[];
}

export function readCluster({ nodes, counts, redirects, waiting, ...figures }: ClusterFigures): ClusterStats {
  const sum = (name: keyof QueueStats): number => nodes.reduce((total, node) => total + node.queues[name], 0);
  return Object.freeze({
    ...figures,
    ...readTraffic(counts),
    redirects: Object.freeze({ ...redirects }),
    queues: Object.freeze({
      offline: sum("offline") + waiting.length,
      gathered: sum("gathered"),
      unsent: sum("unsent"),
      inFlight: sum("inFlight"),
      offlineBytes: sum("offlineBytes") + bytesOf(waiting),
      gatheredBytes: sum("gatheredBytes"),
      unsentBytes: sum("unsentBytes"),
      inFlightBytes: sum("inFlightBytes"),
      socketBytes: sum("socketBytes"),
    }),
    nodes: Object.freeze(Object.fromEntries(nodes.map((node) => [node.server, node]))),
  });
}

export function shownOf({ offline, gathered, unsent, inFlight, socketBytes }: QueueStats): object {
  return { offline, gathered, unsent, inFlight, socketBytes };
}

function readTraffic(counts: ConnectionCounts): Traffic {
  const { flushes: count, written: commands, bytesRead, bytesWritten } = counts;
  const { attempts, opened, lost, resent, probes } = counts;
  return {
    flushes: Object.freeze({
      count,
      commands,
      mean: count === 0 ? 0 : commands / count,
      sizes: Object.freeze([...counts.flushSizes]),
    }),
    bytesRead,
    bytesWritten,
    stalls: Object.freeze({ count: counts.stalls, ms: counts.stalledMs }),
    connections: Object.freeze({ attempts, opened, lost, resent, probes }),
  };
}
