/**
 * The client for a cluster: resolves options, connects the modules, emits events. Batches with any keys are
 * split by the node that serves them; every node is also available as an ordinary client (`nodes()`).
 */

import type { EventEmitter } from "node:events";
import type { ClusterStatus } from "../../cluster/lifecycle";
import type { SentCommand } from "../../command/command-extra";
import { specOf } from "../../command/command-table";
import { EXECUTE } from "../../command/commander";
import type { Dispatcher } from "../../command/dispatcher";
import { OptionError } from "../../errors";
import { type ClientSummary, hideNodes, redactUrl, SUMMARY } from "../../observability/redact";
import { asCallback, type Callback } from "../../util/callback";
import { debugLog } from "../../util/debug";
import { callUser } from "../../util/user-code";
import { CALLS, CHAIN, ClientBase, INITIALIZE, IS_INTERCEPTED, LEND, LIMITS, SOURCE } from "../client-base";
import type { LimitContext, LimitOptions } from "../command-limits";
import { emitLater, emitMessage, emitRefusal } from "../events";
import { lend } from "../leases/cluster-lending";
import { LendingClient } from "../leases/lending-client";
import { gatheredOf } from "../options/auto-pipelining";
import {
  type ClusterNode,
  type ClusterOptions,
  clusterDatabase,
  type NodeRole,
  parseStartupNode,
  resolveClusterOptions,
} from "../options/cluster-options";
import { observeOptions } from "../options/live-options";
import {
  flushesSoFar,
  isPatched,
  type LeasedConnection,
  type LeaseOptions,
  type LendTerms,
  type Loan,
  leasing,
  linkStatsOf,
  noteClient,
  Redis,
} from "../redis";
import { type ClusterStats, readBounds, readCluster, readCommands, shownOf } from "../stats";
import {
  IS_SUBSCRIBED,
  type KeyspaceEvents,
  type KeyspaceEventsOptions,
  openScan,
  type ScanStream,
  type ScanStreamOptions,
} from "../streaming/streams";
import type {
  ClientCommands,
  ClientListeners,
  RedisValue,
  ReplyMappingFromCluster,
  ReplyMappingMode,
  ReplyOf,
} from "../types";
import {
  checkCall,
  type NodeReplies,
  type OnAllOptions,
  onAll,
  openClusterKeyspaceEvents,
  type ScanPageOptions,
  scannerOf,
  scanPage,
} from "../whole-cluster/whole-cluster";
import { type CacheView, ClusterChain } from "./cluster-chain";
import { type QuitOptions, type QuitReport, quitClusterWithin } from "./cluster-quit";
import { ClusterWiring, type WiringOwner } from "./cluster-wiring";

type AnyListener = Parameters<EventEmitter["on"]>[1];
/** The options determine the type parameter of the client. */
type OptionsOf<Mode extends ReplyMappingMode> = ClusterOptions & { redisOptions: { replyMapping: Mode } };

const debug = debugLog("cluster");
const pipelineDebug = debugLog("pipeline");
const poolDebug = debugLog("pool");
const WIRING: unique symbol = Symbol("wiring");
const UNTIL_READY: unique symbol = Symbol("untilReady");
const PARTS: unique symbol = Symbol("parts");
const ROLES: readonly string[] = ["all", "master", "slave"];

interface ClusterListeners extends ClientListeners, Record<ClusterStatus, () => void> {
  "+node": (node: Redis) => void;
  "-node": (node: Redis) => void;
  "node error": (error: Error, node: string) => void;
}

/** Listeners with typed arguments. */
export interface Cluster<Mode extends ReplyMappingMode = "legacy"> {
  /**
   * Calls the listener for each event. Cluster: `connect`, `ready`, `error`, `close`, `reconnecting`, `end`, `+node`, `-node`,
   * `node error`. Messages: `message`, `pmessage`, `smessage` and their `...Buffer` forms. See docs/cluster.md.
   */
  on<Event extends keyof ClusterListeners>(event: Event, listener: ClusterListeners[Event]): this;
  /** Calls the listener for each event of this name. */
  on(event: string | symbol, listener: AnyListener): this;
  /** Calls the listener for the next event of this name only. */
  once<Event extends keyof ClusterListeners>(event: Event, listener: ClusterListeners[Event]): this;
  /** Calls the listener for the next event of this name only. */
  once(event: string | symbol, listener: AnyListener): this;
}

export class Cluster<Mode extends ReplyMappingMode = "legacy"> extends LendingClient<Mode> {
  /** Distinguishes a `Cluster` from a `Redis`. */
  readonly isCluster: boolean = true;
  /** All options, including defaults. The client does not change the object passed to the constructor. */
  readonly options: ClusterOptions & LimitOptions;
  /** The nodes that the client asks first; may be replaced while the client reconnects. */
  startupNodes: ClusterNode[];
  readonly [CHAIN]: Dispatcher;
  readonly [LIMITS]: LimitContext;
  readonly [SOURCE]: Redis[typeof SOURCE];
  private readonly [WIRING]: ClusterWiring;
  private readonly [PARTS]: ClusterChain;

  // Overloads with options that leave the reply mapping open come second: they use the default of the type
  // parameter.
  constructor(startupNodes: readonly ClusterNode[] | undefined, options: OptionsOf<Mode>);
  constructor(startupNodes?: readonly ClusterNode[], options?: ClusterOptions);
  constructor(startupNodes?: readonly ClusterNode[], options?: ClusterOptions) {
    super();
    // A string would become a list of its letters. `connect()` reports an empty list.
    this.startupNodes = hideNodes(Array.isArray(startupNodes) ? [...startupNodes] : []);
    for (const node of this.startupNodes) parseStartupNode(node);
    const resolved = resolveClusterOptions(options);
    this.options = resolved;
    const db = clusterDatabase(this.startupNodes, this.options);
    if (db !== 0) (this.options.redisOptions ??= {}).db = db;
    const parts = new ClusterChain(this, this.options.redisOptions);
    const owner = makeOwner(this as unknown as Cluster);
    const wiring = new ClusterWiring(resolved, owner, parts.caching, parts.writes);
    this[WIRING] = wiring;
    this[PARTS] = parts;
    this[CHAIN] = parts.joinTo(wiring.router, this.options.bounds, wiring.reads !== null);
    this[LIMITS] = {
      get isWritable() {
        return wiring.router.isOpen;
      },
      get isRelaxed() {
        return wiring.pool.allClients().some(({ link }) => link.isRelaxed);
      },
      positionOf: (command) => positionOf(wiring, command),
      readsReplicas: this.options.scaleReads !== "master",
    };
    this[SOURCE] = makeSource(this as unknown as Cluster, wiring);
    this[INITIALIZE]();
    passOn(wiring, this.options, "enableAutoPipelining");
    passOn(wiring, this.options, "autoPipeliningIgnoredCommands");
    passOn(wiring, this.options.redisOptions ?? {}, "socketTimeout");
    if (this.options.lazyConnect) emitLater(this, "wait");
    else this.connect().catch(() => {});
  }

  /** The current state. See docs/cluster.md for the states and their order. */
  get status(): ClusterStatus {
    return this[WIRING].lifecycle.status;
  }

  /** Some packages assign it after they close the client. */
  set status(word: ClusterStatus) {
    this[WIRING].lifecycle.status = word;
  }

  /** For each slot the names of its nodes, `host:port`, master first. */
  get slots(): string[][] {
    return this[WIRING].slots.table;
  }

  /** The replies cached in this process; empty without the option `cache`. */
  get cache(): CacheView {
    return this[PARTS].cache;
  }

  /**
   * Commands collected for the next automatic pipelines; before `ready`, commands that wait although the slots
   * are known.
   */
  get autoPipelineQueueSize(): number {
    const { lifecycle } = this[WIRING];
    const gathered = this[WIRING].viewsOf("all").reduce((sum, node) => sum + node.autoPipelineQueueSize, 0);
    if (lifecycle.status !== "connect") return gathered;
    const singles = lifecycle.waiting.filter(({ batch }) => batch === null);
    return gathered + gatheredOf(singles, this.options).length;
  }

  /**
   * Connects. Resolves when ready; rejects with "None of startup nodes is available" when the attempt ends,
   * even if retries continue.
   */
  connect(callback?: Callback<void>): Promise<void> {
    return asCallback(this[WIRING].lifecycle.connect(), callback);
  }

  /**
   * Writes the issued commands and closes all connections. Replies that still arrive settle their commands; the
   * others reject with "Connection is closed.".
   */
  disconnect(reconnect = false): void {
    if (!reconnect) this[PARTS].admission?.letGo();
    this[WIRING].lifecycle.disconnect(reconnect);
  }

  /**
   * Sends QUIT to every node after all issued commands, and closes. With `{ timeout }`, it accepts no new commands,
   * and waits that long for replies, including redirects and failovers. It closes in any case, and resolves with a
   * report of the unanswered commands.
   */
  override quit(options: QuitOptions, callback?: Callback<QuitReport>): Promise<QuitReport>;
  override quit(callback?: Callback<"OK">): Promise<"OK">;
  override quit(
    options?: QuitOptions | Callback<"OK">,
    callback?: Callback<QuitReport>,
  ): Promise<"OK"> | Promise<QuitReport> {
    // Commands that `bounds` holds back were issued before QUIT.
    this[PARTS].admission?.letGo();
    if (typeof options !== "object" || options === null)
      return asCallback(this[WIRING].lifecycle.quit(), options);
    return asCallback(quitClusterWithin(this[WIRING], options), callback);
  }

  /** The nodes as separate clients, over the existing connections. */
  nodes(role: NodeRole = "all"): Redis[] {
    if (!ROLES.includes(role)) {
      throw new OptionError(`Invalid role "${String(role)}". Expected "all", "master" or "slave"`);
    }
    return this[WIRING].viewsOf(role);
  }

  /**
   * Sends a command to every master (or replica, or node), and resolves with the replies and the errors by node. Waits
   * for a connected cluster. `timeout`, `signal` and `retry` are those of `with()`. See docs/whole-cluster.md.
   */
  async onAll<Name extends string>(
    command: Name,
    args: readonly RedisValue[] = [],
    options: OnAllOptions = {},
  ): Promise<NodeReplies<ReplyOf<ClientCommands<Mode>, Name>>> {
    checkCall(command, args, options);
    await this[UNTIL_READY]();
    const send = (): Promise<unknown> => onAll(this[WIRING], command, args, options);
    const { writes } = this[PARTS];
    return (writes === null ? send() : writes.cover(specOf(command), args.map(String), send)) as never;
  }

  /**
   * Returns one page of a scan over all masters. Start with the cursor "0", and pass the returned cursor until it is "0"
   * again. The cursor is a string that another process can use. See docs/whole-cluster.md.
   */
  scanPage(cursor: string, options: ScanPageOptions = {}): Promise<[cursor: string, keys: string[]]> {
    return scanPage(this[WIRING], this[UNTIL_READY], cursor, options);
  }

  /** Leases a connection to the master of `{ key }` or `{ slot }`. See `lease()` of `Redis`. */
  lease(options: LeaseOptions): Promise<LeasedConnection<Mode>> {
    return leasing.get().lease<Mode>(this, options);
  }

  /** Calls the function with a connection of its own to the master of `{ key }` or `{ slot }`, and releases it. */
  withConnection<Value>(
    work: (own: LeasedConnection<Mode>) => Value | Promise<Value>,
    options: LeaseOptions,
  ): Promise<Value> {
    return leasing.get().withConnection<Mode, Value>(this, work, options);
  }

  /** Like `keyspaceEvents()` of `Redis`, for the keys of all masters. */
  override keyspaceEvents(options?: KeyspaceEventsOptions): KeyspaceEvents {
    return openClusterKeyspaceEvents(this, this[WIRING], this[UNTIL_READY], options);
  }

  override async [LEND](slot: () => number, terms: LendTerms): Promise<Loan> {
    const wanted = slot();
    await this[UNTIL_READY]();
    return lend(this[WIRING], wanted, { ...terms, notes: this[PARTS].makeNotes() });
  }

  /** Keys of the whole cluster as a Readable, one master after the other; chunks are arrays. */
  scanStream(options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "scan", redis: scannerOf(this[WIRING], this[UNTIL_READY]) });
  }

  scanBufferStream(options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "scanBuffer", redis: scannerOf(this[WIRING], this[UNTIL_READY]) });
  }

  /** Asks the cluster for the slot table. The client also does this automatically. */
  refreshSlotsCache(callback?: Callback<void>): Promise<void> {
    return asCallback(this[WIRING].refresher.refresh(), callback);
  }

  /** A new client with the same start nodes and options, changed by `override`. */
  duplicate<Override extends Partial<ClusterOptions> | undefined = undefined>(
    startupNodes: readonly ClusterNode[] = [],
    override?: Override,
  ): Cluster<ReplyMappingFromCluster<Mode, Override>> {
    const nodes = startupNodes.length > 0 ? startupNodes : this.startupNodes;
    const redisOptions = { ...this.options.redisOptions, ...override?.redisOptions };
    return new Cluster(nodes, { ...this.options, ...override, redisOptions });
  }

  /** Metrics of the client: totals and, in `nodes`, each node. See docs/observability.md. */
  stats(): ClusterStats {
    const { admission, caching } = this[PARTS];
    const { redirector, lifecycle, retries, counts } = this[WIRING];
    const nodes = this[WIRING].viewsOf("all");
    return readCluster({
      status: this.status,
      commands: readCommands(this[CALLS], caching?.cache.answeredCalls ?? 0),
      bounds: readBounds(admission),
      cache: caching && Object.freeze(caching.cache.stats()),
      nodes: nodes.map((node) => linkStatsOf(node)),
      counts,
      redirects: redirector.counts,
      waiting: [...lifecycle.waiting, ...retries.pending()],
    });
  }

  /** Waits for the slots, and fails, as a command would. */
  private readonly [UNTIL_READY] = (): Promise<unknown> => {
    if (this[WIRING].router.isOpen) return Promise.resolve();
    return this[EXECUTE](specOf("ping"), [], false);
  };

  [IS_SUBSCRIBED](...name: Parameters<ClusterWiring["subscriptions"]["isWanted"]>): boolean {
    return this[WIRING].subscriptions.isWanted(...name);
  }

  [SUMMARY](): ClientSummary {
    const { status, nodes, queues } = this.stats();
    const server = Object.keys(nodes).map((name) => redactUrl(name));
    return { server, status, queues: shownOf(queues) };
  }

  /** Commands also pass through the node clients. */
  override get [IS_INTERCEPTED](): boolean {
    return super[IS_INTERCEPTED] || Redis.prototype.sendCommand !== ClientBase.prototype.sendCommand;
  }
}

function makeOwner(cluster: Cluster): WiringOwner {
  const report = (event: string, ...args: unknown[]): void => {
    callUser(() => cluster.silentEmit(event, ...args));
  };
  const observed = { stats: () => ({ ...cluster.stats(), ...cluster[SOURCE].server() }) };
  return {
    startNodes: () =>
      cluster.startupNodes.map((node) => {
        const { host, port, ...options } = parseStartupNode(node);
        return { host, port, options };
      }),
    onStatus: (status) => {
      debug("cluster is now %s", status);
      noteClient(observed, status);
      emitLater(cluster, status);
    },
    onError: (error) => {
      debug("error: %s", error);
      report("error", error);
    },
    onNodeError: (error, key) => {
      debug("error of node %s: %s", key, error);
      report("node error", error, key);
    },
    onNode: (event, redis) => {
      poolDebug("%s %s:%s", event, redis.options.host, redis.options.port);
      emitLater(cluster, event, redis);
    },
    onRefreshed: () => {
      debug("slots refreshed, %d nodes", cluster[WIRING].pool.list().length);
      emitLater(cluster, "refresh");
    },
    emit: report,
    onMessage: (message) => emitMessage(cluster, message),
    onNameRefused: (...refused) => emitRefusal(cluster, ...refused),
    retryDelay: (attempts, reason) => {
      const { clusterRetryStrategy } = cluster.options;
      if (typeof clusterRetryStrategy !== "function") return null;
      return callUser(() => clusterRetryStrategy.call(cluster, attempts, reason));
    },
  };
}

/** A changed option applies to the nodes, too. */
function passOn<Options extends object>(
  wiring: ClusterWiring,
  options: Options,
  name: keyof Options & string,
): void {
  observeOptions(options, [name], () => {
    for (const node of wiring.viewsOf("all")) Reflect.set(node.options, name, options[name]);
  });
}

/** A cluster is many servers: its address for tracers is that of the first startup node. */
function makeSource(cluster: Cluster, wiring: ClusterWiring): Redis[typeof SOURCE] {
  return {
    callCounts: cluster[CALLS],
    isLogging: pipelineDebug.enabled,
    get isPatched() {
      return isPatched(cluster.sendCommand) || isPatched(Redis.prototype.sendCommand);
    },
    get flushes() {
      return flushesSoFar();
    },
    server: () => {
      const [first] = cluster.startupNodes;
      const { host, port } = first === undefined ? { host: "", port: undefined } : parseStartupNode(first);
      return { serverAddress: host, serverPort: port };
    },
    database: cluster.options.redisOptions?.db ?? 0,
    nodesOfLast: () => wiring.router.lastNodes.length,
  };
}

/** The position of a command: at the master of its slot, if known. */
function positionOf(wiring: ClusterWiring, command: SentCommand): ReturnType<LimitContext["positionOf"]> {
  const master = command.slot < 0 ? null : wiring.slots.ownerOf(command.slot);
  const link = master?.client?.link;
  if (link === undefined) return { commandsAhead: wiring.retries.size, bytesAhead: 0, server: "the cluster" };
  return link.positionOf(command);
}
