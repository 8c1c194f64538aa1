/**
 * The result of `stats()` of the clients: plain frozen objects made of counters that are kept where
 * the work is done. Reading them allocates; keeping them does not.
 */

import type { CacheStats } from "../caching/cache-report";
import type { Command } from "../command/command";
import type { Tally } from "../command/promise-completion";
import { bytesOf } from "../command/size";
import type { ConnectionCounts } from "../connection/connection-counts";
import type { Admission } from "../link/admission";
import type { BlockingLease } from "../link/blocking-lease";
import type { Link } from "../link/link";
import { clockMs } from "../util/scheduling";

/** Calls of the client. They only grow; `issued` minus the other two is what has not settled. */
export interface CommandStats {
  /** Calls, those of pipelines and transactions (MULTI and EXEC too) and those that the cache answers included. */
  readonly issued: number;
  /** Those that succeeded. A pipeline is counted when all of it has settled. */
  readonly fulfilled: number;
  readonly failed: number;
  /** Failures by the first word of the error reply (`WRONGTYPE`), or the code of the client's own error. */
  readonly errors: Readonly<Record<string, number>>;
}

/** Writes to the socket. They only grow. */
export interface FlushStats {
  readonly count: number;
  /** Commands written, those of the client itself (handshakes) and those sent again included. */
  readonly commands: number;
  /** Commands for each flush; 0 before the first. */
  readonly mean: number;
  /** Flushes by size: `sizes[i]` had at least 2 to the power of i commands and fewer than twice as many. */
  readonly sizes: readonly number[];
}

/** Connections of the client. They only grow. */
export interface ConnectionStats {
  readonly attempts: number;
  /** Attempts that led to a ready connection. */
  readonly opened: number;
  /** Ready connections that ended without being asked to. */
  readonly lost: number;
  /** Written commands that went back to the queue because their connection was lost. */
  readonly resent: number;
  /** Times that a silent server was asked about on a second connection. */
  readonly probes: number;
}

/** Commands that wait, by where. */
export interface QueueStats {
  /** For a connection. */
  readonly offline: number;
  /** For the next automatic batch, or for a connection of `blockingConnections`. */
  readonly gathered: number;
  /** For the next flush. */
  readonly unsent: number;
  /** For their reply. */
  readonly inFlight: number;
  /**
   * The same in bytes of arguments (characters of strings). A queue of more than 64 commands is not added up:
   * the figure is then the mean of a few of them, spread over all of it, times their number.
   */
  readonly offlineBytes: number;
  readonly gatheredBytes: number;
  readonly unsentBytes: number;
  readonly inFlightBytes: number;
  /** Bytes that the socket holds because the system takes no more. */
  readonly socketBytes: number;
}

/** From a flush to its first reply, in milliseconds; null before the first. Blocking commands are left out. */
export interface RoundTripStats {
  /** Moving mean in which the last one counts an eighth. */
  readonly meanMs: number | null;
  /** 99th percentile of the last minute, to within a fifth. */
  readonly p99Ms: number | null;
  /** Round trips measured; never more than one at a time. */
  readonly count: number;
}

/** Times that the system took no more bytes. They only grow. */
export interface StallStats {
  readonly count: number;
  /** Milliseconds in all. */
  readonly ms: number;
}

/** The amounts that the option `bounds` limits. */
export interface BoundStats {
  /** Commands that are admitted and not settled, and the bytes of memory that they cost. */
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

/** One server. */
export interface LinkStats extends Traffic {
  readonly status: string;
  /** `host:port` or the path of the unix socket. */
  readonly server: string;
  readonly queues: QueueStats;
  readonly roundTrip: RoundTripStats;
  /** Channels, patterns and sharded channels that are subscribed to. */
  readonly subscriptions: number;
}

/** The result of `redis.stats()`. */
export interface RedisStats extends LinkStats {
  readonly commands: CommandStats;
  /** Null without the option `bounds`. */
  readonly bounds: BoundStats | null;
  /** Automatic batches that may be unanswered at present; null without auto-pipelining. */
  readonly window: number | null;
  /** Null without the option `cache`. */
  readonly cache: CacheStats | null;
}

/** Commands and transactions that a node sent elsewhere or back, by its word. They only grow. */
export interface RedirectStats {
  readonly moved: number;
  readonly ask: number;
  readonly tryAgain: number;
  readonly clusterDown: number;
  /** LOADING, MASTERDOWN, READONLY and the like. */
  readonly other: number;
}

/** The result of `cluster.stats()`: totals of all nodes, those that have left included. */
export interface ClusterStats extends Traffic {
  readonly status: string;
  readonly commands: CommandStats;
  /** Null without the option `bounds`. */
  readonly bounds: BoundStats | null;
  readonly redirects: RedirectStats;
  /** Null without the option `cache`. */
  readonly cache: CacheStats | null;
  /** `offline` has what waits for the cluster or for its turn after a redirect, too. */
  readonly queues: QueueStats;
  /** By `host:port`. */
  readonly nodes: Readonly<Record<string, LinkStats>>;
}

/** The facts that the link itself does not know. */
interface Surroundings {
  readonly status: string;
  /** Address of the server. */
  readonly server: string;
  readonly gathered: readonly Command[];
  readonly lease: BlockingLease | null;
}

/** Commands that wait above the links. */
interface Waiting {
  count: number;
  bytes: number;
}

/** @param answered Calls that a cache has answered before they became commands. */
export function readCommands({ issued, fulfilled, failed, errors }: Tally, answered: number): CommandStats {
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

/** @param caching Null without the option `cache`. */
export function readCache(caching: { stats(): CacheStats } | null): CacheStats | null {
  return caching === null ? null : Object.freeze(caching.stats());
}

export function readLink(link: Link, counts: ConnectionCounts, surroundings: Surroundings): LinkStats {
  const { status, server, lease } = surroundings;
  const gathered = waitingOf(surroundings.gathered);
  gathered.count += lease?.waitingCount ?? 0;
  gathered.bytes += lease?.waitingBytes ?? 0;
  const { meanMs, count } = counts.roundTrips;
  return Object.freeze({
    status,
    server,
    ...readTraffic(counts),
    queues: readQueues(link, gathered),
    roundTrip: Object.freeze({ meanMs, p99Ms: counts.roundTrips.p99Ms(clockMs()), count }),
    subscriptions: link.subscriptions.count,
  });
}

function readQueues({ connection, offline, pending, queue }: Link, gathered: Waiting): QueueStats {
  return Object.freeze({
    offline: offline.length,
    gathered: gathered.count,
    unsent: pending.unsent - offline.length,
    inFlight: pending.unanswered,
    offlineBytes: offline.bytes,
    gatheredBytes: gathered.bytes,
    unsentBytes: queue?.unsentBytes ?? 0,
    inFlightBytes: queue?.bytesInFlight ?? 0,
    socketBytes: connection?.socket?.writableLength ?? 0,
  });
}

function waitingOf(commands: readonly Command[]): Waiting {
  return { count: commands.length, bytes: bytesOf(commands) };
}

/** The facts that a cluster client adds to its nodes. */
interface ClusterFigures extends Pick<ClusterStats, "status" | "commands" | "bounds" | "cache"> {
  readonly nodes: readonly LinkStats[];
  /** Of all nodes that there are or were. */
  readonly counts: ConnectionCounts;
  /** By `RedirectKind`. */
  readonly redirects: readonly number[];
  /** Commands that wait above the nodes. */
  readonly waiting: Waiting;
}

export function readCluster({ nodes, counts, redirects, waiting, ...own }: ClusterFigures): ClusterStats {
  const sum = (name: keyof QueueStats): number => nodes.reduce((total, node) => total + node.queues[name], 0);
  const [moved = 0, ask = 0, tryAgain = 0, clusterDown = 0, unfit = 0, unnamed = 0] = redirects;
  return Object.freeze({
    ...own,
    ...readTraffic(counts),
    redirects: Object.freeze({ moved, ask, tryAgain, clusterDown, other: unfit + unnamed }),
    queues: Object.freeze({
      offline: sum("offline") + waiting.count,
      gathered: sum("gathered"),
      unsent: sum("unsent"),
      inFlight: sum("inFlight"),
      offlineBytes: sum("offlineBytes") + waiting.bytes,
      gatheredBytes: sum("gatheredBytes"),
      unsentBytes: sum("unsentBytes"),
      inFlightBytes: sum("inFlightBytes"),
      socketBytes: sum("socketBytes"),
    }),
    nodes: Object.freeze(Object.fromEntries(nodes.map((node) => [node.server, node]))),
  });
}

/** A few figures for people. */
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
