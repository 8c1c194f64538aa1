/**
 * Answers reads from earlier replies of the server: the first dispatcher of its client, in front of all others.
 * A cached read is not sent, and a read that is already in flight is shared. All other reads are sent, and
 * their replies are stored until the server reports that a key has changed.
 *
 * Rules that keep the cache correct:
 *
 *   a reply is stored under the connection that it arrived over, and dropped with it (`TrackedConnection`)
 *   any message of the server about a key drops its replies; its reads in flight are not stored
 *   commands of this client drop and hold the keys that they may change until they end (`Holds`)
 *   between WATCH or MULTI and their end the cache does not answer
 *   a cached reply is used only while the connection has been alive within `maxStaleMs`
 *   a read in flight is shared only with calls that are issued within `maxStaleMs` of it
 *
 * On a cluster there is one cache over all nodes, and a `TrackedConnection` for the connection of each:
 *
 *   a slot named by a redirect or by a changed slot table is dropped with all its keys, missing keys included
 *   a reply that may describe a missing key is stored for `absentTtlMs`: no server reports that its slot moves
 */

import { prepareArguments } from "../command/argument-mappers";
import type { Command } from "../command/command";
import { CommandFlag, type CommandSpec } from "../command/command-spec";
import { specOf } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { Effect, effectOf } from "../command/effects";
import { keyPositions, prefixKeys } from "../command/key-positions";
import { isMappedByUser } from "../command/reply-mappers";
import { ParserError, ReplyError } from "../errors";
import type { ServerContext } from "../observability/channels";
import type { Argument, Reply } from "../protocol/resp-types";
import { copyError } from "../util/copy-error";
import { clockMs } from "../util/scheduling";
import { CacheReport, type CacheStats } from "./cache-report";
import { type CachedReply, CacheStore, type Question, textOfQuestion } from "./cache-store";
import { Changes, Holds } from "./holds";
import { PendingRead } from "./pending-read";
import { argumentTexts, textOf } from "./texts";
import type { TrackedConnection } from "./tracked-connection";
import { copyOf, hasBytes, isCopyable, keptFrom, keptFrozen, mayBeAbsence, sizeOf } from "./values";

export interface CacheSettings {
  readonly maxBytes: number;
  readonly ttlMs: number;
  /** Replies expire no later than their keys do on the server. */
  readonly asksTtl: boolean;
  /** How long a silent connection is trusted. */
  readonly maxStaleMs: number;
  /** How long replies are stored that may describe missing keys, on a cluster; null: like all other replies. */
  readonly absentTtlMs: number | null;
  /** Callers share one frozen value. Values that contain Buffers are copied instead. */
  readonly isFrozen: boolean;
  /** The keys that are cached, prefix included; null: all. */
  readonly matches: ((key: string) => boolean) | null;
  /** The server sends invalidations only for these keys. */
  readonly isBroadcast: boolean;
}

export interface CacheDeps {
  /** Keys have changed, given without the key prefix; null: all keys may have changed. */
  onInvalidated(keys: string[] | null): void;
  /** The connection no longer reports changes. */
  onTrackingEnded(): void;
  /** The server, as tracing channels name it. */
  place(): ServerContext;
}

/** A mask: the clock is read again after this many hits even if the event loop has not turned. */
const HITS_A_TICK = 0x3ff;
const BUFFER_SUFFIX = "Buffer";
const UNGUARD = CommandFlag.Exec | CommandFlag.Discard | CommandFlag.Unwatch | CommandFlag.Reset;

export class ClientCache implements Dispatcher {
  /** Set before the first command. */
  next!: Dispatcher;
  /** The prefix of callers' keys; null: it is not text, so calls are not looked up before they are sent. */
  prefix: string | null = "";
  private readonly store: CacheStore;
  /** The keys that commands in flight may change. */
  readonly holds: Holds;
  /** The reads in flight, by their question. */
  private readonly reads = new Map<string, PendingRead>();
  private readonly report: CacheReport;
  private readonly counts = { hits: 0, misses: 0, joined: 0, stores: 0, invalidations: 0 };
  /** Hits that never became commands, without those of `peek`. */
  answeredCalls = 0;
  private readonly changes = new Changes(() => [this.holds]);
  private isWatching = false;

  constructor(
    private readonly settings: CacheSettings,
    private readonly deps: CacheDeps,
  ) {
    this.store = new CacheStore(settings.maxBytes, settings.absentTtlMs !== null);
    this.holds = new Holds(this.store);
    this.report = new CacheReport(
      () => this.stats(),
      () => deps.place(),
    );
  }

  /** The promise of a cached reply to a call as the caller wrote it, or null. Allocates only the result. */
  promised(spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): Promise<unknown> | null {
    const reply = this.look(spec, args, wantsBuffers);
    if (reply === null) return null;
    this.answeredCalls++;
    // Each call gets its own promise: callers may modify promises or compare them.
    return Promise.resolve(copyOf(reply.value));
  }

  /** The answer to a call if it is in the cache, undefined otherwise. */
  readonly peek = (name: string, ...args: unknown[]): unknown => {
    const wantsBuffers = name.endsWith(BUFFER_SUFFIX);
    const spec = specOf(wantsBuffers ? name.slice(0, -BUFFER_SUFFIX.length) : name);
    const reply = this.look(spec, args, wantsBuffers) ?? this.lookAsSent(spec, args, wantsBuffers);
    return reply === null ? undefined : copyOf(reply.value);
  };

  private look(spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): CachedReply | null {
    const key = args[0];
    const { prefix } = this;
    if (typeof key !== "string" || prefix === null) return null;
    const reply = this.store.find(prefix + key, spec, args, wantsBuffers);
    // Stored arguments include the prefix, those of the caller do not.
    if (reply === null || (prefix !== "" && reply.others.length > 0)) return null;
    return this.isUsable(reply) ? this.hit(reply) : null;
  }

  /** Looks up a call with lists, bytes, or several keys under a prefix, by its arguments as sent. */
  private lookAsSent(spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): CachedReply | null {
    const { prefix } = this;
    if (prefix === null || (prefix === "" && args.every((arg) => typeof arg !== "object"))) return null;
    const sent = textsAsSent(spec, args, prefix);
    const key = sent?.[0];
    if (sent === null || key === undefined) return null;
    const reply = this.store.find(key, spec, sent, wantsBuffers);
    return reply !== null && this.isUsable(reply) ? this.hit(reply) : null;
  }

  private isUsable(reply: CachedReply): boolean {
    if (!this.store.isValid(reply)) return false;
    const { connection } = reply;
    if (connection.nowMs === Number.POSITIVE_INFINITY) {
      this.report.note();
      connection.renew(reply.node.key);
    }
    if (connection.nowMs === Number.POSITIVE_INFINITY || !connection.isDirect || this.isDelicate)
      return false;
    if (!isPast(reply.expiresAtMs, connection)) return true;
    this.store.remove(reply);
    return false;
  }

  private hit(reply: CachedReply): CachedReply {
    reply.isVisited = true;
    // A caller that awaits only hits never lets the event loop turn, so the tick timer would never fire.
    if ((++this.counts.hits & HITS_A_TICK) === 0) reply.connection.nowMs = Number.POSITIVE_INFINITY;
    return reply;
  }

  dispatch(command: Command): void {
    if (!this.takes(command)) this.next.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    const left = commands.filter((command) => !this.takes(command));
    if (left.length > 0) this.next.dispatchBatch(left.length === commands.length ? commands : left);
  }

  /** The keys that a message of the kind `invalidate` names. */
  onInvalidation(keys: Reply | undefined): void {
    this.report.note();
    // An unreadable message may concern any key: the connection closes, and its replies are dropped with it.
    if (!namesKeys(keys))
      throw new ParserError("Protocol error: an invalidation message without a list of keys");
    if (keys === null) {
      this.counts.invalidations++;
      // Reported even if the store is empty: a FLUSHALL of this client dropped everything when it was issued.
      this.store.dropAll();
      this.deps.onInvalidated(null);
      return;
    }
    const named = keys.map(textOf).filter((key) => key !== null);
    this.counts.invalidations += named.length;
    for (const key of named) this.store.drop(key);
    this.tell(named);
  }

  /** @param connection The lost connection of a cluster node; null: the only connection of the client. */
  onLost(connection: TrackedConnection | null): void {
    const { size } = this.store;
    if (connection !== null) this.store.dropConnection(connection);
    else {
      this.isWatching = false;
      this.store.dropAll();
    }
    if (this.store.size < size) this.deps.onInvalidated(null);
  }

  /** A slot of a cluster has moved or is moving: the cached replies are those of another node. */
  onSlotMoved(slot: number): void {
    this.tell(this.store.dropSlot(slot));
  }

  private onAnswered(read: PendingRead, value: unknown): void {
    const { connection, nodes, followers } = read;
    this.forget(read);
    this.report.note();
    const isLive = connection?.isLive === true;
    const isCurrent = isLive && this.isUpToDate(read) && !this.holds.isHeld(nodes);
    const isKept = isCurrent && (!isMappedByUser(read.question.spec) || isCopyable(value));
    if (isLive) connection.prove(read.bornMs);
    if (isKept || followers.length > 0) {
      const isShared = this.settings.isFrozen && !hasBytes(value);
      const kept = isShared ? keptFrozen(value) : keptFrom(value);
      if (isKept) this.keep(read, connection, value, kept);
      for (const follower of followers) follower.fulfilMapped(copyOf(kept));
    }
    this.store.release(nodes);
  }

  private onFailed(read: PendingRead, error: Error): void {
    this.forget(read);
    this.store.release(read.nodes);
    for (const follower of read.followers) {
      if (follower.isSettled) continue;
      // A timeout or a lost connection of the read is no result for the commands that joined it.
      if (error instanceof ReplyError) follower.fail(copyError(error));
      else this.dispatch(follower);
    }
  }

  clear(): void {
    this.store.dropAll();
  }

  stats(): CacheStats {
    const { evictions, size, bytes } = this.store;
    return { ...this.counts, evictions, entries: size, bytes };
  }

  /** The cache must not answer. */
  private get isDelicate(): boolean {
    return this.isWatching || this.changes.isInTransaction;
  }

  /** Returns true if the command ends here: it is answered, or it waits for a reply in flight. */
  private takes(command: Command): boolean {
    const effect = effectOf(command.spec, command.args);
    if (effect === Effect.Cacheable) return !this.isDelicate && this.answers(command);
    const { flags } = command.spec;
    if ((flags & CommandFlag.Watch) !== 0) this.isWatching = true;
    else if ((flags & UNGUARD) !== 0) this.isWatching = false;
    if ((flags & CommandFlag.Reset) !== 0) this.changes.leave();
    if (effect !== Effect.None) this.changes.follow(command, effect);
    if (effect === Effect.Tracking) this.deps.onTrackingEnded();
    return false;
  }

  private answers(command: Command): boolean {
    const { extra } = command;
    const ttlMs = extra?.cacheTtlMs ?? null;
    // A tracer that replaces `resolve` needs the server's reply, and cached replies have one form.
    if (ttlMs === 0 || (extra !== null && (extra.resolve !== null || extra.form !== null))) return false;
    const { spec, wantsBuffers } = command;
    const args = argumentTexts(command.args);
    if (args === null) return false;
    const keys = keyPositions(spec, args).map((position) => args[position] as string);
    if (keys.length === 0 || !keys.every((key) => key.isWellFormed())) return false;
    const { matches, isBroadcast } = this.settings;
    if ((ttlMs === null || isBroadcast) && matches !== null && !keys.every(matches)) return false;
    const reply = this.store.find(keys[0] as string, spec, args, wantsBuffers);
    if (reply !== null && this.isUsable(reply) && isYoungEnough(reply, ttlMs)) {
      this.hit(reply);
      command.fulfilMapped(copyOf(reply.value));
      return true;
    }
    return this.join(command, keys, { spec, args, wantsBuffers });
  }

  /** False if no such read is in flight: this command becomes the read that later ones join. */
  private join(command: Command, keys: readonly string[], question: Question): boolean {
    this.report.note();
    const { settings } = this;
    const ttlMs = command.extra?.cacheTtlMs ?? settings.ttlMs;
    const bornMs = clockMs();
    // A shared reply may be as old as its read, so the read must not be older than a stored reply may be.
    const sinceMs = bornMs - Math.min(ttlMs, settings.maxStaleMs);
    const text = textOfQuestion(question);
    const underWay = this.reads.get(text);
    // The result of a user's transformer may not be shareable with other callers.
    const isShareable = underWay !== undefined && !isMappedByUser(question.spec);
    if (isShareable && underWay.bornMs >= sinceMs && this.isUpToDate(underWay)) {
      this.counts.joined++;
      underWay.followers.push(command);
      return true;
    }
    this.counts.misses++;
    const nodes = keys.map((key) => this.store.openNode(key));
    const read = new PendingRead(nodes, question, bornMs, ttlMs);
    if (settings.asksTtl && keys.length === 1) read.expiringKey = keys[0] as string;
    this.reads.set(text, read);
    const extra = command.ensureExtra();
    extra.tracked = read;
    extra.addHook({
      onSettled: (error, value) => {
        if (error === null) this.onAnswered(read, value);
        else this.onFailed(read, error);
      },
    });
    return false;
  }

  /** All its keys have stayed in the store since it was issued. */
  private isUpToDate({ nodes }: PendingRead): boolean {
    return nodes.every((node) => this.store.has(node));
  }

  private forget(read: PendingRead): void {
    const text = textOfQuestion(read.question);
    if (this.reads.get(text) === read) this.reads.delete(text);
  }

  private keep(read: PendingRead, connection: TrackedConnection, value: unknown, kept: unknown): void {
    const { bornMs, nodes, question, ttlMs } = read;
    const { absentTtlMs } = this.settings;
    const isBrief =
      absentTtlMs !== null && (nodes.length > 1 || isMappedByUser(question.spec) || mayBeAbsence(value));
    const expiresAtMs = bornMs + (isBrief ? Math.min(ttlMs, absentTtlMs) : ttlMs);
    this.counts.stores++;
    const content = { value: kept, bytes: sizeOf(value), connection, bornMs, expiresAtMs };
    read.kept = this.store.add(nodes, question, content);
  }

  /** Reports changed keys. Keys without the prefix belong to other programs. */
  private tell(keys: readonly string[]): void {
    const prefix = this.prefix ?? "";
    const named = keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    if (named.length > 0) this.deps.onInvalidated(named);
  }
}

/** The arguments of a call as they would be sent; null if they are not texts, or the call itself would be refused. */
function textsAsSent(spec: CommandSpec, args: readonly unknown[], prefix: string): readonly string[] | null {
  try {
    const sent = prepareArguments(spec, [...args], false);
    prefixKeys(spec, sent, prefix);
    return argumentTexts(sent);
  } catch {
    return null;
  }
}

function isYoungEnough({ bornMs, connection }: CachedReply, ttlMs: number | null): boolean {
  return ttlMs === null || !isPast(bornMs + ttlMs, connection);
}

/** The connection's time runs ahead by one tick, so the clock is read only within the last tick. */
function isPast(timeMs: number, { nowMs }: TrackedConnection): boolean {
  return nowMs >= timeMs && clockMs() >= timeMs;
}

/** Keys as bytes or texts; null means all keys. */
function namesKeys(keys: Reply | undefined): keys is Argument[] | null {
  if (!Array.isArray(keys)) return keys === null;
  return keys.every((key) => typeof key === "string" || Buffer.isBuffer(key));
}
