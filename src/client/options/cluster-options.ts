/**
 * Options of `Cluster`, their defaults, and the forms of a startup node. docs/options.md is written
 * from the comments here (first paragraph = effect; `@unit`, `@default`). Every field takes an
 * explicit `undefined`, which means its default. What is passed in is not changed.
 */

import { lookup, resolveSrv, type SrvRecord } from "node:dns";
import type { RetryPolicy } from "../../command/command-extra";
import type { ScriptDefinition } from "../../command/script";
import { OptionError } from "../../errors";
import type { Bounds } from "../../link/admission";
import { hideSecrets } from "../../observability/redact";
import { checkOwnOptions, NEEDS_RESP3 } from "./check-options";
import type {
  AutoPipeliningWindow,
  CacheOptions,
  HimportFieldset,
  RetryDelay,
  RetryStrategy,
} from "./common-options";
import { copyFieldsets } from "./managed-fieldsets";
import { tellOfMistypedOptions } from "./mistyped-options";
import { isTlsUrl } from "./parse-url";
import type { RedisOptions } from "./redis-options";
import { fill, optionsOfAddress, toWholeNumber } from "./resolve-options";
import type { NatMap } from "./sentinel-options";

export type NodeRole = "master" | "slave" | "all";

/** A port on 127.0.0.1, a URL or `host:port`, or options of one node. */
export type ClusterNode = string | number | { host?: string | undefined; port?: number | undefined };

export type DNSLookupFunction = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null | undefined, address: string, family?: number) => void,
) => void;

export type DNSResolveSrvFunction = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null | undefined, records?: SrvRecord[]) => void,
) => void;

/** The form in which a read-scaling function sees a node; it is a `Redis` client. */
export interface ReadableNode {
  readonly options: RedisOptions;
  readonly status: string;
}

interface ReadScalingMethod {
  // As a method, so that functions may name their own, narrower parameter types.
  choose(
    nodes: ReadableNode[],
    command: { readonly name: string; readonly args: readonly unknown[] },
  ): unknown;
}

/** Chooses the node for a command that only reads, or a list to draw from. The master is `nodes[0]`. */
export type ReadScaling = ReadScalingMethod["choose"];

/** Options of the node connections: all of `RedisOptions` that the cluster does not decide itself. */
export type ClusterNodeOptions = Omit<
  RedisOptions,
  | "port"
  | "host"
  | "path"
  | "sentinels"
  | "retryStrategy"
  | "enableOfflineQueue"
  | "readOnly"
  | "himportFieldsets"
>;

export interface ClusterOptions {
  /**
   * Called when no node is left, with the number of attempts and the reason if it is known. Returns
   * the delay in milliseconds before the next attempt; anything but a number ends the client.
   * @default min(100 + times * 2, 2000)
   */
  clusterRetryStrategy?: ((times: number, reason?: Error) => RetryDelay) | null | undefined;
  /**
   * `retryStrategy` of each node connection; null: the cluster alone decides about reconnecting.
   * @default null
   */
  clusterNodeRetryStrategy?: RetryStrategy;
  /**
   * Keeps commands until the cluster is ready; otherwise they fail at once.
   * @default true
   */
  enableOfflineQueue?: boolean | undefined;
  /**
   * Is `ready` only when CLUSTER INFO does not say that the cluster has failed.
   * @default true
   */
  enableReadyCheck?: boolean | undefined;
  /**
   * Stays in status `wait` until the first command or `connect()`.
   * @default false
   */
  lazyConnect?: boolean | undefined;
  /**
   * Which nodes serve commands that only read: `"master"`, `"slave"`, `"all"`, or a function
   * `(nodes, command)` that returns a node or a list of them; `nodes[0]` is the master.
   * @default "master"
   */
  scaleReads?: NodeRole | ReadScaling | undefined;
  /**
   * Keeps the answers of reads in this process until the server says that a key has changed: `true`, or settings.
   * Needs protocol 3. Off by default; may stand in `redisOptions` as well. See docs/caching.md.
   */
  cache?: boolean | CacheOptions | undefined;
  /**
   * Zone whose replicas are preferred for reads, where servers tell their zone and `scaleReads`
   * allows replicas.
   */
  availabilityZone?: string | undefined;
  /**
   * Splits commands with keys of several slots (MGET, MSET, DEL, UNLINK, EXISTS, TOUCH) and sends
   * DBSIZE, KEYS, FLUSHALL and the like to all shards, as the command tips of the server say, and
   * merges the replies. Such a command is not atomic.
   * @default false
   */
  followCommandTips?: boolean | undefined;
  /**
   * Redirects and repeats of one command before it fails.
   * @default 16
   */
  maxRedirections?: number | undefined;
  /**
   * Pause before following MOVED.
   * @unit ms
   * @default 0
   */
  retryDelayOnMoved?: number | undefined;
  /**
   * Pause before a command of a lost connection is sent again; 0: it is not.
   * @unit ms
   * @default 100
   */
  retryDelayOnFailover?: number | undefined;
  /**
   * Pause after CLUSTERDOWN; 0: the error is returned.
   * @unit ms
   * @default 100
   */
  retryDelayOnClusterDown?: number | undefined;
  /**
   * Pause after TRYAGAIN.
   * @unit ms
   * @default 100
   */
  retryDelayOnTryAgain?: number | undefined;
  /**
   * Time that one node has to answer when the slot table is refreshed.
   * @unit ms
   * @default 1000
   */
  slotsRefreshTimeout?: number | undefined;
  /**
   * Refreshes the slot table periodically; off when absent.
   * @unit ms
   */
  slotsRefreshInterval?: number | undefined;
  /**
   * Which written but unanswered commands are sent again after a lost connection; see the option of
   * `Redis`.
   * @default "at-least-once"
   */
  retryPolicy?: RetryPolicy | undefined;
  /** Limits what may wait for the cluster, in commands or bytes. Unlimited when absent. */
  bounds?: Bounds | undefined;
  /** Options of the node connections, below those of a startup node. */
  redisOptions?: ClusterNodeOptions | undefined;
  /**
   * Put before every key, before its slot is computed. A Buffer works as well.
   * @default `redisOptions.keyPrefix`
   */
  keyPrefix?: string | undefined;
  /** As for a client of one server. */
  strictArguments?: boolean | undefined;
  /**
   * The startup nodes are names of SRV records.
   * @default false
   */
  useSRVRecords?: boolean | undefined;
  /**
   * Resolves SRV records.
   * @default dns.resolveSrv
   */
  resolveSrv?: DNSResolveSrvFunction | undefined;
  /**
   * Resolves host names of startup nodes. `(host, callback) => callback(null, host)` keeps the
   * names, as TLS certificates need it.
   * @default dns.lookup
   */
  dnsLookup?: DNSLookupFunction | undefined;
  /** Translates the addresses that the nodes announce. */
  natMap?: NatMap | undefined;
  /**
   * Collects the commands of a turn of the event loop into one pipeline a node. An object sets its window.
   * @default false
   */
  enableAutoPipelining?: boolean | AutoPipeliningWindow | undefined;
  /**
   * Commands that never join an automatic pipeline, in any letter case.
   * @default []
   */
  autoPipeliningIgnoredCommands?: string[] | undefined;
  /** Lua scripts that become methods, as `defineCommand` does it. */
  scripts?: Record<string, ScriptDefinition> | undefined;
  /** Error stacks lead to the call of the command. Costs time with every command; for development. */
  showFriendlyErrorStack?: boolean | undefined;
  /**
   * Subscribes to shard channels on the nodes that own their slots.
   * @default false
   */
  shardedSubscribers?: boolean | undefined;
  /** Field lists that each node prepares for HIMPORT SET (Redis 8.10 and later; experimental). */
  himportFieldsets?: readonly HimportFieldset[] | undefined;
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
  maxRedirections: 16,
  retryDelayOnMoved: 0,
  retryDelayOnFailover: 100,
  retryDelayOnClusterDown: 100,
  retryDelayOnTryAgain: 100,
  slotsRefreshTimeout: 1000,
  retryPolicy: "at-least-once",
  useSRVRecords: false,
  resolveSrv,
  dnsLookup: (hostname, callback) => lookup(hostname, callback),
  enableAutoPipelining: false,
  autoPipeliningIgnoredCommands: [],
  shardedSubscribers: false,
  himportFieldsets: undefined,
};

const ROLES = ["all", "master", "slave"];

/** The second argument of `new Cluster(...)` with its defaults filled in. */
export function resolveClusterOptions(given?: ClusterOptions | null): ClusterOptions {
  const options: OptionRecord = {};
  if (given !== undefined && given !== null) fill(options, given as OptionRecord);
  fill(options, defaultClusterOptions as OptionRecord);
  const { scaleReads, redisOptions, autoPipeliningIgnoredCommands: ignored } = options as ClusterOptions;
  if (typeof scaleReads !== "function" && !ROLES.includes(scaleReads as string)) {
    throw new OptionError(
      `Invalid option scaleReads "${scaleReads}". Expected "all", "master", "slave" or a custom function`,
    );
  }
  if (redisOptions?.cache) options["cache"] ??= redisOptions.cache;
  tellOfMistypedOptions(options);
  checkOwnOptions(options);
  if (options["cache"] && redisOptions?.protocol === 2) throw new OptionError(NEEDS_RESP3);
  if (redisOptions !== undefined && redisOptions !== null) {
    const own: Record<string, unknown> = { ...redisOptions };
    tellOfMistypedOptions(own);
    checkOwnOptions(own);
    options["redisOptions"] = hideSecrets(own);
    if (!options["keyPrefix"] && redisOptions.keyPrefix) options["keyPrefix"] = redisOptions.keyPrefix;
  }
  if (Array.isArray(ignored)) options["autoPipeliningIgnoredCommands"] = [...ignored];
  if (options["himportFieldsets"] !== undefined) {
    options["himportFieldsets"] = copyFieldsets(options["himportFieldsets"]);
  }
  return hideSecrets(options) as ClusterOptions;
}

/** Options of one node, as far as its startup node states them. */
export interface StartupNode extends ClusterNodeOptions {
  host: string;
  port: number;
}

/**
 * The database of all connections: `redisOptions.db`, or the one that startup nodes name. They cannot name several: each
 * key is in one database, whichever node serves it.
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

/** `parseInt` of an unset variable is no number: nothing was asked for. */
function wholeNumberOf(db: unknown): number {
  return Number(toWholeNumber("db", db)) || 0;
}

/**
 * Reads one startup node. A cluster client uses one database (`clusterDatabase`), so `db` is dropped here.
 *
 * @example
 * parseStartupNode("rediss://example.org:7000"); // { host: "example.org", port: 7000, tls: true }
 */
export function parseStartupNode(node: unknown): StartupNode {
  const options: OptionRecord = {};
  if (typeof node === "number") options["port"] = node;
  else if (typeof node === "string") {
    fill(options, optionsOfAddress(node));
    if (isTlsUrl(node) && options["tls"] === undefined) options["tls"] = true;
  } else if (typeof node === "object" && node !== null) fill(options, node as OptionRecord);
  else throw new OptionError(`Invalid argument ${String(node)}`);
  delete options["db"];
  fill(options, { host: "127.0.0.1", port: 6379 });
  options["port"] = toWholeNumber("port", options["port"]);
  return hideSecrets(options) as unknown as StartupNode;
}
