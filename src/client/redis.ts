/** The client for one server. It only translates between the public interface and the layers below. */

import { type EventEmitter, once } from "node:events";
import type { Socket } from "node:net";
import type { Dispatcher } from "../command/dispatcher";
import type { CommandQueue } from "../connection/command-queue";
import type { AbstractConnector } from "../link/connector";
import { Link } from "../link/link";
import type { OfflineQueue } from "../link/offline-queue";
import { type ClientSummary, hideSecrets, SUMMARY } from "../observability/redact";
import { type BatchObserver, OBSERVE } from "../pipeline/pipeline-run";
import { asCallback, type Callback } from "../util/callback";
import { type CacheView, Chain, type ChainDeps, loadParts, PARTS } from "./chain";
import { CALLS, CHAIN, INITIALIZE, LEND, LIMITS, OPEN_MERGER, SOURCE } from "./client-base";
import { ClientTracer, flushesSoFar, isPatched, noteClient, type TraceSource } from "./client-tracer";
import type { LimitContext } from "./command-limits";
import { type FailoverReport, makeConnector, readFailover } from "./connectors";
import { emitLater } from "./events";
import { type QuitOptions, type QuitReport, quit, quitWithin } from "./graceful-quit";
import {
  type LeasedConnection,
  type LeaseOptions,
  type LendTerms,
  type Loan,
  leasing,
  type PooledConnection,
} from "./late-features";
import { LendingClient } from "./leases/lending-client";
import { observeOptions } from "./options/live-options";
import { type Defaults, defaultOptions, type RedisOptions } from "./options/redis-options";
import { resolveRedisOptions } from "./options/resolve-options";
import { RedisEvents } from "./redis-events";
import { type LinkStats, type RedisStats, readBounds, readCommands, readLink, shownOf } from "./stats";
import { IS_SUBSCRIBED, openScan, type ScanStream, type ScanStreamOptions } from "./streaming/streams";
import type { ClientListeners, RedisStatus, ReplyMappingFrom, ReplyMappingMode } from "./types";

/** The state of the current connection. */
export interface Condition {
  select: number;
  auth: string | null | undefined;
  subscriber: boolean;
  protocol: 2 | 3;
  replyMapping: "legacy" | "resp3";
}

export type * from "./late-features";
export { flushesSoFar, isPatched, leasing, noteClient };

type AnyListener = Parameters<EventEmitter["on"]>[1];
/** The options determine the type parameter of the client. */
type OptionsOf<Mode extends ReplyMappingMode> = RedisOptions & { replyMapping: Mode };
type RedisArguments =
  | [port?: number, host?: string, options?: RedisOptions]
  | [portOrPath: number | string, options: RedisOptions]
  | [path: string]
  | [options: RedisOptions];

export const LINK: unique symbol = Symbol("link");
export const EVENTS: unique symbol = Symbol("events");

const NO_OTHER_PROMISE =
  "sluice does not support plugging third-party Promise library anymore. Native Promise will be used.";

const LIVE_OPTIONS = ["enableAutoPipelining", "autoPipeliningIgnoredCommands", "socketTimeout"];
const NO_QUEUE = { length: 0 };
const NO_PEER = { remoteAddress: undefined, remotePort: undefined };

interface RedisListeners extends ClientListeners, Record<Exclude<RedisStatus, "reconnecting">, () => void> {
  reconnecting: (delayMs: number) => void;
  select: (db: number) => void;
  busy: (error: Error) => void;
  /** The client has switched to another of its databases. */
  failover: (report: FailoverReport) => void;
  /** A connection to a replica has failed. */
  "node error": (error: Error, replica: string) => void;
}

/** Listeners with typed arguments. */
export interface Redis<Mode extends ReplyMappingMode = "legacy"> {
  /**
   * Calls the listener for each event. Connection: `connect`, `ready`, `error`, `close`, `reconnecting`, `end`. Messages:
   * `message`, `pmessage`, `smessage` and their `...Buffer` forms. Replicas: `node error`. Several databases: `failover`.
   * See docs/connecting.md, docs/pubsub.md, docs/replicas.md and docs/failover.md.
   */
  on<Event extends keyof RedisListeners>(event: Event, listener: RedisListeners[Event]): this;
  /** Calls the listener for each event of this name. */
  on(event: string | symbol, listener: AnyListener): this;
  /** Calls the listener for the next event of this name only. */
  once<Event extends keyof RedisListeners>(event: Event, listener: RedisListeners[Event]): this;
  /** Calls the listener for the next event of this name only. */
  once(event: string | symbol, listener: AnyListener): this;
}

/**
 * @example
 * const options = { connectionName: "jobs", commandTimeout: 1000 };
 * const jobs = new Redis("redis://localhost:6379/1", options);
 * await jobs.set("state", "idle");
 * await jobs.quit();
 */
export class Redis<Mode extends ReplyMappingMode = "legacy"> extends LendingClient<Mode> {
  /** @deprecated Always the native one. */
  static get Promise(): PromiseConstructor {
    console.warn(NO_OTHER_PROMISE);
    return Promise;
  }

  static set Promise(_library: unknown) {
    console.warn(NO_OTHER_PROMISE);
  }

  /** The default options. */
  static readonly defaultOptions: Defaults = defaultOptions;

  /** Same as `new Redis(...)`. */
  static createClient(...args: RedisArguments): Redis {
    return new Redis(...(args as []));
  }

  /** Distinguishes a `Redis` from a `Cluster`. */
  readonly isCluster: boolean = false;
  /** All options, including defaults. The client does not change the object passed to the constructor. */
  readonly options: RedisOptions;
  readonly [EVENTS]: RedisEvents;
  readonly [LINK]: Link;
  [CHAIN]: Dispatcher;
  readonly [LIMITS]: LimitContext;
  readonly [PARTS]: Chain;
  readonly [SOURCE]: TraceSource;

  // Overloads with options that leave the reply mapping open come second: they use the default of the type
  // parameter.
  constructor(port: number, host: string, options: OptionsOf<Mode>);
  constructor(port: number, host: string, options?: RedisOptions);
  constructor(portOrPath: number | string, options: OptionsOf<Mode>);
  constructor(portOrPath: number | string, options?: RedisOptions);
  constructor(options: OptionsOf<Mode>);
  constructor(options?: RedisOptions);
  constructor(...args: unknown[]) {
    super();
    this.options = resolveRedisOptions(args);
    loadParts(this.options);
    // The layers below ignore the types of replies.
    const self = this as unknown as Redis;
    const events = new RedisEvents(self, new ClientTracer(this));
    const link = new Link(this.options, makeConnector(self, makeClient), events);
    this[EVENTS] = events;
    this[LINK] = link;
    const view = new RedisView(self, link, events);
    this[SOURCE] = view;
    this[PARTS] = new Chain(view, this);
    this[CHAIN] = this[PARTS].top;
    this[LIMITS] = link;
    this[INITIALIZE]();
    observeOptions(this.options, LIVE_OPTIONS, (name) => {
      if (name === "socketTimeout") link.connection?.limitSilence(this.options.socketTimeout ?? 0);
      else this[PARTS].renewAuto(link.status === "ready");
    });
    if (this.options.lazyConnect) emitLater(this, "wait");
    else this.connect().catch(() => {});
  }

  override [OPEN_MERGER](): void {
    this[PARTS].openMerger();
  }

  /** The current state. See docs/connecting.md for the states and their order. */
  get status(): RedisStatus {
    return this[EVENTS].shownStatus ?? (this[LINK].status as RedisStatus);
  }

  /**
   * Some packages assign it after they close the client. The value is shown until the next state change, and
   * has no effect.
   */
  set status(word: RedisStatus) {
    this[EVENTS].shownStatus = word;
  }

  /** A connection in `monitor` mode, or with RESP2 in `subscriber` mode, refuses most commands. */
  get mode(): "normal" | "subscriber" | "monitor" {
    return this[LINK].mode;
  }

  /**
   * The current socket, or `null` without one, with the type that ioredis declares. A custom connector may
   * return any Duplex.
   */
  get stream(): Socket {
    return (this[LINK].connection?.socket ?? null) as Socket;
  }

  /** The replies cached in this process; empty without the option `cache`. */
  get cache(): CacheView {
    return this[PARTS].cache;
  }

  /** The connector that opens the sockets. */
  get connector(): AbstractConnector {
    return this[LINK].connector;
  }

  /** Commands written and unanswered, or about to be written. */
  get commandQueue(): CommandQueue | typeof NO_QUEUE {
    return this[LINK].connection?.queue ?? NO_QUEUE;
  }

  /** Commands that wait for a connection. */
  get offlineQueue(): OfflineQueue {
    return this[LINK].offline;
  }

  /** Database, protocol and related state of the current connection; null without one. */
  get condition(): Condition | null {
    const { connection, session, options, mode } = this[LINK];
    if (connection === null) return null;
    return hideSecrets({
      select: session.selected.db,
      auth: (options as RedisOptions).password,
      subscriber: mode === "subscriber",
      ...connection.shape,
    });
  }

  /** Commands in the automatic batch of the current task, and commands that wait for it. */
  get autoPipelineQueueSize(): number {
    return this[PARTS].auto?.size ?? 0;
  }

  /**
   * Connects. Resolves when ready. Rejects with "Connection is closed." when the attempt fails, even if the client
   * retries. `error.cause` and the event `error` have the reason.
   *
   * @example
   * const lazy = new Redis({ lazyConnect: true });
   * await lazy.connect();
   * lazy.disconnect();
   */
  connect(callback?: Callback<void>): Promise<void> {
    return asCallback(this[LINK].connect(), callback);
  }

  /**
   * Writes the issued commands and closes the connection. Replies that arrive within `disconnectTimeout` settle
   * their commands; the others reject with "Connection is closed.".
   */
  disconnect(reconnect = false): void {
    const { [PARTS]: parts, [LINK]: link } = this;
    if (!reconnect) parts.letGo();
    link.disconnect(reconnect);
    if (!reconnect && parts.leases !== null) this[EVENTS].settleWaiting(parts.leases.close());
  }

  /** @deprecated Use `disconnect()`. */
  end(): void {
    this.disconnect();
  }

  /**
   * Sends QUIT after all issued commands, and closes. With `{ timeout }` it waits at most that long for the
   * replies, closes in any case, and resolves with a report of the remaining commands.
   * @example
   * const { isDrained, unanswered, unsent } = await redis.quit({ timeout: 500 });
   */
  override quit(options: QuitOptions, callback?: Callback<QuitReport>): Promise<QuitReport>;
  override quit(callback?: Callback<"OK">): Promise<"OK">;
  override quit(
    options?: QuitOptions | Callback<"OK">,
    callback?: Callback<QuitReport>,
  ): Promise<"OK"> | Promise<QuitReport> {
    if (typeof options !== "object" || options === null) {
      return asCallback(quit(this, false) as Promise<"OK">, options);
    }
    return asCallback(quitWithin(this, options), callback);
  }

  override quitBuffer(callback?: Callback<Buffer>): Promise<Buffer> {
    return asCallback(quit(this, true) as Promise<Buffer>, callback);
  }

  /**
   * A new client with the same options, changed by `override`. Scripts that were defined later are not copied.
   * @example
   * const subscriber = redis.duplicate({ connectionName: "subscriber" });
   * await subscriber.subscribe("news"); // 1
   * await subscriber.quit();
   */
  duplicate<Override extends Partial<RedisOptions> | undefined = undefined>(
    override?: Override,
  ): Redis<ReplyMappingFrom<Mode, Override>> {
    return new Redis({ ...this.options, ...override });
  }

  /**
   * Leases a connection for WATCH, blocking commands or subscriptions. Release it with `release()` or `await using`.
   * Rejects with the code `LEASE_TIMEOUT` if all connections stay leased.
   * @example
   * const own = await redis.lease();
   * await own.watch("stock");
   * await own.release();
   */
  lease(options?: LeaseOptions): Promise<LeasedConnection<Mode>> {
    return leasing.get().lease<Mode>(this, options);
  }

  /**
   * Calls the function with a connection of its own, and releases the connection when the function has ended.
   * @example
   * const time = await redis.withConnection((own) => own.time());
   */
  withConnection<Value>(
    work: (own: LeasedConnection<Mode>) => Value | Promise<Value>,
    options?: LeaseOptions,
  ): Promise<Value> {
    return leasing.get().withConnection<Mode, Value>(this, work, options);
  }

  /** A client of one server ignores the slot. */
  override [LEND](_slot: () => number, terms: LendTerms): Promise<Loan> {
    const { [PARTS]: parts } = this;
    return parts.openLeases().take(() => {}, { ...terms, notes: parts.replicas?.makeNotes() });
  }

  /** Keys of the database as a Readable; chunks are arrays. */
  scanStream(options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "scan", redis: this });
  }

  scanBufferStream(options?: ScanStreamOptions): ScanStream {
    return openScan({ ...options, command: "scanBuffer", redis: this });
  }

  /**
   * A new client that receives every command the server executes, as the event `monitor(time, args, source,
   * database)`.
   * @example
   * const monitor = await redis.monitor();
   * monitor.on("monitor", (time, args) => console.log(time, args));
   * await redis.get("a");
   * monitor.disconnect();
   */
  monitor(callback?: Callback<Redis>): Promise<Redis> {
    const settings = { monitor: true, lazyConnect: false, himportFieldsets: undefined };
    const monitor = Redis.prototype.duplicate.call(this, settings) as Redis;
    const started = once(monitor, "monitoring").then(
      () => monitor,
      (error) => {
        // The caller will never receive the client.
        monitor.disconnect();
        throw error;
      },
    );
    return asCallback(started, callback);
  }

  /** Metrics of the client; cheap enough to read every second. See docs/observability.md. */
  stats(): RedisStats {
    const { auto, admission, caching } = this[PARTS];
    return Object.freeze({
      ...linkStatsOf(this),
      commands: readCommands(this[CALLS], caching?.cache.answeredCalls ?? 0),
      bounds: readBounds(admission),
      window: auto?.windowSize ?? null,
      cache: caching && Object.freeze(caching.cache.stats()),
      replicas: this[PARTS].replicaStats,
      failover: readFailover(this.options, this.connector),
    });
  }

  [IS_SUBSCRIBED](...name: Parameters<Link["subscriptions"]["has"]>): boolean {
    return this[LINK].subscriptions.has(...name);
  }

  [SUMMARY](): ClientSummary {
    const { status, server, queues } = linkStatsOf(this);
    return { server, status, version: this[LINK].connection?.serverVersion ?? null, queues: shownOf(queues) };
  }

  override [OBSERVE](size: number): BatchObserver | null {
    return this[EVENTS].tracer.onTransaction(size, this[LINK].session.selected.db);
  }
}

export function linkStatsOf(redis: Redis<ReplyMappingMode>): LinkStats {
  const { lease, gatheredCommands: gathered } = redis[PARTS];
  const server = String(redis[EVENTS].tracer);
  return readLink(redis[LINK], redis[EVENTS].counts, { gathered, lease, server, status: redis.status });
}

/** The client as its tracers and dispatchers see it. It is a class so that clients share its methods. */
class RedisView implements TraceSource, ChainDeps {
  constructor(
    private readonly redis: Redis,
    readonly link: Link,
    readonly events: RedisEvents,
  ) {}

  get callCounts(): TraceSource["callCounts"] {
    return this.redis[CALLS];
  }

  get isLogging(): boolean {
    return this.events.tracer.isLoggingBatches;
  }

  get isPatched(): boolean {
    return isPatched(this.redis.sendCommand);
  }

  get flushes(): number {
    return flushesSoFar();
  }

  get database(): number {
    return this.link.session.selected.db;
  }

  server(): ReturnType<TraceSource["server"]> {
    // With replicas, a call may run on any of the servers.
    const socket = this.redis[PARTS].replicas === null ? this.redis.stream : NO_PEER;
    const { remoteAddress: peerAddress, remotePort: peerPort } = socket ?? NO_PEER;
    return { ...this.events.tracer.server(), peerAddress, peerPort };
  }

  nodesOfLast(): number {
    return 1;
  }

  get options(): RedisOptions {
    return this.redis.options;
  }

  get roundTrips(): ReturnType<ChainDeps["openOwned"]>["roundTrips"] {
    return this.events.counts.roundTrips;
  }

  openOwned(...args: Parameters<typeof makeOwned>): ReturnType<ChainDeps["openOwned"]> {
    const owned = makeOwned(...args);
    return {
      link: owned[LINK],
      roundTrips: owned[EVENTS].counts.roundTrips,
      stats: () => linkStatsOf(owned),
    };
  }

  divides(...failure: Parameters<ChainDeps["divides"]>): boolean {
    return this.redis[PARTS].merger?.divides(...failure) === true;
  }

  onReplicaError(error: Error, server: string): void {
    this.redis.emit("node error", error, server);
  }

  makeConnection(): PooledConnection {
    const { redis, events } = this;
    const { PooledConnection } = leasing.get();
    return new PooledConnection(redis.options, makeConnector(redis, makeClient), events);
  }

  onEntry(top: Dispatcher): void {
    this.redis[CHAIN] = top;
  }
}

/** A client that is part of another client, which connects it and reports its errors. */
export function makeOwned(options: RedisOptions, supervisor: RedisEvents["supervisor"]): Redis {
  const redis = new Redis(options);
  redis[EVENTS].supervisor = supervisor;
  // Without a listener the error would be printed.
  redis.on("error", () => {});
  return redis;
}

function makeClient(settings: object): Redis {
  return new Redis(settings);
}
