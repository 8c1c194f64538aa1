/**
 * Options of `Cluster`, their defaults, and the forms of a startup node. The comments have the form of those in
 * common-options.ts. The objects of the caller are not changed.
 */

import { lookup, resolveSrv } from "node:dns";
import { ROUTING_DEFAULTS, type RoutingOptions } from "../../cluster/cluster-defaults";
import type { DNSLookupFunction, DNSResolveSrvFunction } from "../../cluster/discovery";
import { OptionError } from "../../errors";
import { LINK_DEFAULTS } from "../../link/link-defaults";
import type { RetryDelay } from "../../link/reconnection";
import { hideSecrets } from "../../observability/redact";
import type { NatMap } from "../../util/address-map";
import type { AnyClientOptions, RetryStrategy } from "./common-options";
import {
  LIMITS_OF_CLUSTERS,
  warnAboutAddress,
  warnAboutClusterOptions,
  warnAboutRedisOptions,
} from "./mistyped-options";
import { checkOptions, NEEDS_RESP3 } from "./option-table";
import { isTlsUrl } from "./parse-url";
import type { RedisOptions } from "./redis-options";
import { fill, optionsOfAddress, toWholeNumber, withOwnLists } from "./resolve-options";

export type { DNSLookupFunction, DNSResolveSrvFunction };

export type NodeRole = "master" | "slave" | "all";

/** A port on 127.0.0.1, a URL or `host:port`, or options of one node. */
export type ClusterNode = string | number | { host?: string | undefined; port?: number | undefined };

/** A node as a `scaleReads` function sees it: a `Redis` client. */
export interface ReadableNode {
  readonly options: RedisOptions;
  readonly status: string;
}

interface ReadScalingMethod {
  // A method, so that user functions may declare narrower parameter types.
  choose(
    nodes: ReadableNode[],
    command: { readonly name: string; readonly args: readonly unknown[] },
  ): unknown;
}

/** Returns the node for a read command, or a list of candidates. The master is `nodes[0]`. */
export type ReadScaling = ReadScalingMethod["choose"];

/** Options of the node connections: `RedisOptions` without those that the cluster sets. */
export type ClusterNodeOptions = Omit<
  RedisOptions,
  | "port"
  | "host"
  | "path"
  | "sentinels"
  | "failover"
  | "retryStrategy"
  | "enableOfflineQueue"
  | "readOnly"
  | "himportFieldsets"
  | "replicas"
  | "scaleReads"
  | "readYourWrites"
  | "availabilityZone"
>;

export interface ClusterOptions extends AnyClientOptions {
  /**
   * Called when no node can be reached, with the number of attempts and the reason if it is known. Returns the delay in
   * milliseconds before the next attempt. If it returns no number, the client closes.
   * @default min(100 + times * 2, 2000)
   */
  clusterRetryStrategy?: ((times: number, reason?: Error) => RetryDelay) | null | undefined;
  /**
   * `retryStrategy` of each node connection. With null, only the cluster decides when to reconnect.
   * @default null
   */
  clusterNodeRetryStrategy?: RetryStrategy;
  /**
   * Queues commands until the cluster is ready. With `false`, they fail immediately.
   * @default true
   */
  enableOfflineQueue?: boolean | undefined;
  /**
   * Waits until CLUSTER INFO no longer reports `cluster_state:fail` before the client is `ready`.
   * @default true
   */
  enableReadyCheck?: boolean | undefined;
  /**
   * Nodes for read commands: `"master"`, `"slave"` or `"replica"`, `"all"`, `"nearest"` (the shortest round trip), or a
   * function `(nodes, command)` that returns a node or a list of nodes. `nodes[0]` is the master. `"primary"` sends only the
   * reads of `with({ readFrom: "replica" })` to replicas.
   * @default "master"
   */
  scaleReads?: NodeRole | "replica" | "nearest" | "primary" | ReadScaling | undefined;
  /**
   * With `scaleReads`: time after the reply to a write in which reads of its keys go to the master, so that this client reads
   * its own writes. Off by default, as in ioredis. See docs/replicas.md.
   * @unit ms
   */
  readYourWrites?: number | undefined;
  /**
   * Zone of this client. Reads prefer replicas of this zone, if `scaleReads` allows replicas and the servers report their
   * zones.
   */
  availabilityZone?: string | undefined;
  /**
   * Splits commands with keys of several slots (MGET, MSET, DEL, UNLINK, EXISTS, TOUCH), sends commands such as
   * DBSIZE, KEYS and FLUSHALL to all shards, and merges the replies, as the command tips of the server define. These
   * commands are not atomic.
   * @default false
   */
  followCommandTips?: boolean | undefined;
  /**
   * Maximum number of redirects and repeats of one command.
   * @default 16
   */
  maxRedirections?: number | undefined;
  /**
   * Delay before the client follows a MOVED.
   * @unit ms
   * @default 0
   */
  retryDelayOnMoved?: number | undefined;
  /**
   * Delay before a command of a lost connection is sent again. With 0, it is not sent again.
   * @unit ms
   * @default 100
   */
  retryDelayOnFailover?: number | undefined;
  /**
   * Delay before the client retries after CLUSTERDOWN. With 0, the command fails with the error.
   * @unit ms
   * @default 100
   */
  retryDelayOnClusterDown?: number | undefined;
  /**
   * Delay before the client retries after TRYAGAIN.
   * @unit ms
   * @default 100
   */
  retryDelayOnTryAgain?: number | undefined;
  /**
   * Time limit for each node to return the slot table.
   * @unit ms
   * @default 1000
   */
  slotsRefreshTimeout?: number | undefined;
  /**
   * Interval of additional refreshes of the slot table. Off by default.
   * @unit ms
   */
  slotsRefreshInterval?: number | undefined;
  /** Options of the node connections. Options of a startup node take precedence. */
  redisOptions?: ClusterNodeOptions | undefined;
  /**
   * Prefix of all keys, a string or a Buffer. The client computes slots with the prefix.
   * @default `redisOptions.keyPrefix`
   */
  keyPrefix?: string | undefined;
  /**
   * Treats the hosts of the startup nodes as names of SRV records.
   * @default false
   */
  useSRVRecords?: boolean | undefined;
  /**
   * Function that resolves SRV records.
   * @default dns.resolveSrv
   */
  resolveSrv?: DNSResolveSrvFunction | undefined;
  /**
   * Function that resolves the host names of startup nodes. `(host, callback) => callback(null, host)` keeps the names, for
   * TLS certificates.
   * @default dns.lookup
   */
  dnsLookup?: DNSLookupFunction | undefined;
  /** Translates the addresses that the nodes announce. */
  natMap?: NatMap | undefined;
  /**
   * Enables `ssubscribe`: the client subscribes to shard channels at the nodes that own their slots.
   * @default false
   */
  shardedSubscribers?: boolean | undefined;
}

type Defaults = { readonly [Name in keyof ClusterOptions]: ClusterOptions[Name] | null };
type OptionRecord = Record<string, unknown>;

export const defaultClusterOptions: Defaults = {
  clusterRetryStrategy: (times) => Math.min(100 + times * 2, 2000),
  clusterNodeRetryStrategy: null,
  enableOfflineQueue: true,
  enableReadyCheck: true,
  lazyConnect: false,
  scaleReads: "master",
  followCommandTips: false,
  ...ROUTING_DEFAULTS,
  retryPolicy: LINK_DEFAULTS.retryPolicy,
  useSRVRecords: false,
  resolveSrv,
  dnsLookup: (hostname, callback) => lookup(hostname, callback),
  enableAutoPipelining: false,
  autoPipeliningIgnoredCommands: [],
  shardedSubscribers: false,
  himportFieldsets: undefined,
};

const READS = ["all", "master", "slave", "replica", "nearest", "primary"];

/** Options that choose servers, as a cluster does by itself. */
const OF_ONE_SERVER = {
  failover: "a cluster has its own failover",
  replicas: "set scaleReads of the Cluster",
} as const;

export type ResolvedClusterOptions = ClusterOptions & RoutingOptions;

/** The second argument of `new Cluster(...)` with its defaults filled in. */
export function resolveClusterOptions(given?: ClusterOptions | null): ResolvedClusterOptions {
  const options: OptionRecord = {};
  if (given !== undefined && given !== null) fill(options, given as OptionRecord);
  fill(options, defaultClusterOptions as OptionRecord);
  // An explicit null means the default as well.
  for (const [name, value] of Object.entries(ROUTING_DEFAULTS)) options[name] ??= value;
  const { scaleReads, redisOptions } = options as ClusterOptions;
  if (typeof scaleReads !== "function" && !READS.includes(scaleReads as string)) {
    throw new OptionError(
      `Invalid option scaleReads "${scaleReads}". Expected "all", "master", "slave", "replica", "nearest", "primary" or a custom function`,
    );
  }
  if (redisOptions?.cache) options["cache"] ??= redisOptions.cache;
  warnAboutClusterOptions(options);
  checkOptions(options);
  if (options["cache"] && redisOptions?.protocol === 2) throw new OptionError(NEEDS_RESP3);
  if (redisOptions !== undefined && redisOptions !== null) {
    const own: Record<string, unknown> = { ...redisOptions };
    warnAboutRedisOptions(own);
    checkOptions(own);
    for (const [name, advice] of Object.entries(OF_ONE_SERVER)) {
      if (own[name]) throw new OptionError(`The nodes of a Cluster have no option ${name}: ${advice}`);
    }
    options["redisOptions"] = hideSecrets(own);
    if (!options["keyPrefix"] && redisOptions.keyPrefix) options["keyPrefix"] = redisOptions.keyPrefix;
    // Limits of commands count from the call, so the cluster applies them and not its nodes.
    for (const name of LIMITS_OF_CLUSTERS) {
      if (options[name] === undefined && own[name] !== undefined) options[name] = own[name];
    }
  }
  return withOwnLists(options) as unknown as ResolvedClusterOptions;
}

/** A parsed startup node: its address, and options of this node. */
export interface StartupNode extends ClusterNodeOptions {
  host: string;
  port: number;
}

/**
 * The database of all connections: `redisOptions.db`, or the one in the startup nodes. They must all name the
 * same database, because each key is in one database, on whichever node.
 */
export function clusterDatabase(nodes: readonly unknown[], { redisOptions }: ClusterOptions): number {
  const given = redisOptions?.db;
  if (given !== undefined && given !== null) return wholeNumberOf(given);
  const named = new Set<number>();
  for (const node of nodes) {
    const { db } = typeof node === "string" ? optionsOfAddress(node) : (Object(node) as OptionRecord);
    if (db !== undefined && db !== null) named.add(wholeNumberOf(db));
  }
  const [db = 0, other] = named;
  if (other === undefined) return db;
  throw new OptionError(
    `The startup nodes name the databases ${db} and ${other}. Expected one, or redisOptions.db`,
  );
}

/** `parseInt` of an unset variable is NaN: the default applies. */
function wholeNumberOf(db: unknown): number {
  return Number(toWholeNumber("db", db)) || 0;
}

/**
 * Parses one startup node. A cluster client uses one database (`clusterDatabase`), so `db` is dropped here.
 * @example
 * parseStartupNode("rediss://example.org:7000"); // { host: "example.org", port: 7000, tls: true }
 */
export function parseStartupNode(node: unknown): StartupNode {
  const options: OptionRecord = {};
  if (typeof node === "number") options["port"] = node;
  else if (typeof node === "string") {
    fill(options, optionsOfAddress(node));
    if (isTlsUrl(node) && options["tls"] === undefined) options["tls"] = true;
  } else if (typeof node === "object" && node !== null) {
    warnAboutRedisOptions(node);
    warnAboutAddress(node as OptionRecord);
    fill(options, node as OptionRecord);
  } else throw new OptionError(`Invalid argument ${String(node)}`);
  delete options["db"];
  fill(options, { host: "127.0.0.1", port: LINK_DEFAULTS.port });
  options["port"] = toWholeNumber("port", options["port"]);
  return hideSecrets(options) as unknown as StartupNode;
}
