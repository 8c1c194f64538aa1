/**
 * Answers reads from what the server has answered before: the first dispatcher of its client, over
 * all others. A read that is in the cache goes no further; one that is under way is waited for; all
 * others are sent, and what the server answers is kept until it says that a key has changed.
 *
 * It is right by these rules:
 *
 *   an answer is kept under the connection that it came over, and lost with it (`TrackedConnection`)
 *   any word of the server about a key drops its answers, and reads of it under way are not kept
 *   commands of this client drop and hold the keys that they may change until they end (`Holds`)
 *   between WATCH or MULTI and their end nothing comes from the cache
 *   an answer is given only while the connection has been alive within `maxStaleMs`
 *   one that is under way is waited for only by those who ask within `maxStaleMs` of its question
 *
 * On a cluster there is one cache over all nodes, and a `TrackedConnection` for the connection of each:
 *
 *   a slot that a redirect or a table speaks of is dropped with all its keys, those that are missing included
 *   what may speak of missing keys is kept for `absentTtlMs`: no server tells when the slot of such a key moves
 */

import type { Command } from "../command/command";
import { prepareCall } from "../command/command-factory";
import { CommandFlag, type CommandSpec } from "../command/command-spec";
import { specOf } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { Effect, effectOf } from "../command/effects";
import { keyPositions } from "../command/key-positions";
import { isMappedByUser } from "../command/reply-mappers";
import { ParserError, ReplyError } from "../errors";
import type { ServerContext } from "../observability/channels";
import type { Argument, Reply } from "../protocol/resp-types";
import { copyError } from "../util/copy-error";
import { clockMs } from "../util/scheduling";
import { CacheReport, type CacheStats } from "./cache-report";
import { type CachedReply, CacheStore, type Content, type KeyNode, type Question } from "./cache-store";
import { Hold, Holds } from "./holds";
import { PendingRead, PendingReads, type ReadListener } from "./pending-read";
import { argumentTexts, textOf } from "./texts";
import type { TrackedConnection } from "./tracked-connection";
import {
  copyOf,
  freezeDeep,
  hasBytes,
  isCopyable,
  keptFrom,
  kindOf,
  mayBeAbsence,
  sizeOf,
  ValueKind,
} from "./values";

export interface CacheSettings {
  readonly maxBytes: number;
  readonly ttlMs: number;
  /** The time to live of keys at the server bounds that of their answers. */
  readonly asksTtl: boolean;
  /** How long a connection that is silent is believed. */
  readonly maxStaleMs: number;
  /** How long what may speak of missing keys is kept: on a cluster; null: as everything else. */
  readonly absentTtlMs: number | null;
  /** Callers share what they get; it is frozen. Not what has Buffers in it. */
  readonly isFrozen: boolean;
  /** Which keys are kept, prefix included; null: all. */
  readonly matches: ((key: string) => boolean) | null;
  /** The server tells of no other keys. */
  readonly isBroadcast: boolean;
}

/** The collaborators of a cache. */
export interface CacheDeps {
  /** Where its commands go on to, until the chain is built. */
  readonly next: Dispatcher;
  /** Keys have changed, as callers name them; null: all may have. */
  onInvalidated(keys: string[] | null): void;
  /** The connection does not tell about changes any more. */
  onTrackingEnded(): void;
  /** The server, as channels tell it. */
  place(): ServerContext;
}

/** Every so many hits, all bits set, the clock is read again although the event loop has not turned. */
const HITS_A_TICK = 0x3ff;
const BUFFER_SUFFIX = "Buffer";
const UNGUARD = CommandFlag.Exec | CommandFlag.Discard | CommandFlag.Unwatch | CommandFlag.Reset;

export class ClientCache implements Dispatcher, ReadListener {
  /** Where its commands go on to. */
  next: Dispatcher;
  /** Put before the keys of callers; null if it is no text: then nothing is looked up by what they pass. */
  prefix: string | null = "";
  private readonly store: CacheStore;
  /** The keys that commands under way may change. */
  readonly holds: Holds;
  private readonly reads = new PendingReads();
  private readonly report: CacheReport;
  /** The command that was peeked at last: a place in a program mostly asks for the same command. */
  private peeked = methodOf("get");
  private hits = 0;
  /** Hits that never became commands: calls of the client itself, those of `peek` left out. */
  answeredCalls = 0;
  private misses = 0;
  private joined = 0;
  private stores = 0;
  private invalidations = 0;
  /** The transaction that is open, with what it may change. */
  private open: Hold | null = null;
  private isWatching = false;
  /** Nothing may come from the cache: a transaction is open, or keys are watched. */
  private isDelicate = false;

  constructor(
    private readonly settings: CacheSettings,
    private readonly deps: CacheDeps,
  ) {
    this.next = deps.next;
    this.store = new CacheStore(settings.maxBytes, settings.absentTtlMs !== null);
    this.holds = new Holds(this.store);
    this.report = new CacheReport(
      () => this.stats(),
      () => deps.place(),
    );
  }

  // --- the way of a hit ----------------------------------------------------------------------

  /**
   * The promise of an answer that is in the cache, or null. Takes the arguments as a caller has put
   * them, and makes nothing but what the caller gets.
   */
  promised(spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): Promise<unknown> | null {
    const reply = this.look(spec, args, wantsBuffers);
    if (reply === null) return null;
    this.answeredCalls++;
    // Each call has a promise of its own: callers may change promises, or tell calls apart by them.
    return Promise.resolve(reply.kind === ValueKind.Shared ? reply.value : copyOf(reply.value, reply.kind));
  }

  /** The answer to a call if it is in the cache, undefined otherwise. */
  peek(name: string, ...args: unknown[]): unknown {
    let { peeked } = this;
    if (peeked.name !== name) this.peeked = peeked = methodOf(name);
    const { spec, wantsBuffers } = peeked;
    const reply = this.look(spec, args, wantsBuffers) ?? this.lookAsSent(spec, args, wantsBuffers);
    if (reply === null) return undefined;
    return reply.kind === ValueKind.Shared ? reply.value : copyOf(reply.value, reply.kind);
  }

  private look(spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): CachedReply | null {
    const key = args[0];
    const { prefix } = this;
    if (typeof key !== "string" || prefix === null) return null;
    if (prefix === "") {
      const reply = this.store.find(key, spec, args, wantsBuffers);
      return reply !== null && this.isUsable(reply) ? this.hit(reply) : null;
    }
    const reply = this.store.find(prefix + key, spec, args, wantsBuffers);
    // The arguments that are kept of such a call have the prefix, those of the caller have not.
    if (reply === null || reply.others !== null) return null;
    return this.isUsable(reply) ? this.hit(reply) : null;
  }

  /** Lists, bytes, and several keys under a prefix: looked up as the call would send them. */
  private lookAsSent(spec: CommandSpec, args: readonly unknown[], wantsBuffers: boolean): CachedReply | null {
    const { prefix } = this;
    if (prefix === null || (prefix === "" && args.every((arg) => typeof arg !== "object"))) return null;
    let sent: readonly string[] | null;
    try {
      sent = argumentTexts(prepareCall(spec, [...args], prefix, false));
    } catch {
      // The call would be refused as well.
      return null;
    }
    const key = sent?.[0];
    if (sent === null || key === undefined) return null;
    const reply = this.store.find(key, spec, sent, wantsBuffers);
    return reply !== null && this.isUsable(reply) ? this.hit(reply) : null;
  }

  private isUsable(reply: CachedReply): boolean {
    const { connection } = reply;
    if (connection.nowMs < reply.expiresAtMs && connection.isDirect) return !this.isDelicate;
    if (connection.nowMs === Number.POSITIVE_INFINITY) {
      this.report.note();
      connection.renew(reply.node.key);
    }
    if (connection.nowMs === Number.POSITIVE_INFINITY) return false;
    if (isPast(reply.expiresAtMs, connection)) {
      this.store.remove(reply);
      return false;
    }
    return connection.isDirect && !this.isDelicate;
  }

  private hit(reply: CachedReply): CachedReply {
    reply.isVisited = true;
    // Callers who await nothing but hits would see the same time for ever.
    if ((++this.hits & HITS_A_TICK) === 0) reply.connection.nowMs = Number.POSITIVE_INFINITY;
    return reply;
  }

  // --- Dispatcher ----------------------------------------------------------------------------

  dispatch(command: Command): void {
    if (!this.takes(command)) this.next.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    let left: Command[] | null = null;
    for (let index = 0; index < commands.length; index++) {
      const command = commands[index] as Command;
      if (!this.takes(command)) left?.push(command);
      else left ??= commands.slice(0, index);
    }
    if (left === null) this.next.dispatchBatch(commands);
    else if (left.length > 0) this.next.dispatchBatch(left);
  }

  // --- what the server says --------------------------------------------------------------------

  /** The keys that a message of the kind `invalidate` names. */
  onInvalidation(keys: Reply | undefined): void {
    this.report.note();
    // What an unreadable message was about is not known: the connection ends, and its answers with it.
    if (!namesKeys(keys))
      throw new ParserError("Protocol error: an invalidation message without a list of keys");
    if (keys === null) {
      this.invalidations++;
      // Told even if nothing is left: a FLUSHALL of this client has dropped all when it was issued.
      this.store.dropAll();
      this.deps.onInvalidated(null);
      return;
    }
    const prefix = this.prefix ?? "";
    const named: string[] = [];
    for (const key of keys) {
      const text = textOf(key);
      if (text === null) continue;
      this.invalidations++;
      this.store.drop(text);
      if (text.startsWith(prefix)) named.push(text.slice(prefix.length));
    }
    if (named.length > 0) this.deps.onInvalidated(named);
  }

  /** The only connection is lost, and with it all that came over it. */
  onLost(): void {
    this.isWatching = false;
    this.isDelicate = this.open !== null;
    this.dropAll();
  }

  /** The connection to a node of a cluster is lost. */
  onConnectionLost(connection: TrackedConnection): void {
    if (this.store.dropConnection(connection)) this.deps.onInvalidated(null);
  }

  /** A slot of a cluster is not, or not only, where it was: what is known of its keys is that of another node. */
  onSlotMoved(slot: number): void {
    const prefix = this.prefix ?? "";
    const named = this.store.dropSlot(slot).filter((key) => key.startsWith(prefix));
    if (named.length > 0) this.deps.onInvalidated(named.map((key) => key.slice(prefix.length)));
  }

  onAnswered(read: PendingRead, value: unknown): void {
    const { connection, nodes, terms, followers } = read;
    this.reads.delete(read);
    this.report.note();
    const isLive = connection?.isLive === true;
    const isCurrent = isLive && read.isUpToDate(this.store.epoch) && !this.holds.isHeld(nodes);
    const isKept = isCurrent && (!isMappedByUser(read.question.spec) || isCopyable(value));
    if (isLive) connection.prove(terms.bornMs);
    if (isKept || followers !== null) {
      const kept = this.keepable(value);
      if (isKept) this.keep(read, connection, kept);
      for (const follower of followers ?? []) follower.fulfilMapped(copyOf(kept.value, kept.kind));
    }
    this.store.release(nodes);
  }

  onFailed(read: PendingRead, error: Error): void {
    this.reads.delete(read);
    this.store.release(read.nodes);
    for (const follower of read.followers ?? []) {
      if (follower.isSettled) continue;
      // A limit of its own, or a connection that was lost, says nothing about what the others asked.
      if (error instanceof ReplyError) follower.fail(copyError(error));
      else this.dispatch(follower);
    }
  }

  // --- for users -------------------------------------------------------------------------------

  clear(): void {
    this.store.dropAll();
  }

  stats(): CacheStats {
    const { hits, misses, joined, stores, invalidations, store } = this;
    const { evictions, size, bytes } = store;
    return { hits, misses, joined, stores, evictions, invalidations, entries: size, bytes };
  }

  // --- inside ------------------------------------------------------------------------------

  /** True if the command goes no further: it is answered, or waits for an answer that is under way. */
  private takes(command: Command): boolean {
    const effect = effectOf(command.spec, command.args);
    if (effect === Effect.Cacheable) return !this.isDelicate && this.answers(command);
    if (effect !== Effect.None) this.follow(command, effect);
    else if ((command.spec.flags & (CommandFlag.Watch | CommandFlag.Unwatch)) !== 0) this.noteGuard(command);
    return false;
  }

  private answers(command: Command): boolean {
    const { extra } = command;
    const ttlMs = extra?.cacheTtlMs ?? null;
    // A tracer that takes the place of `resolve` wants to see the reply of the server.
    if (ttlMs === 0 || (extra !== null && extra.resolve !== null)) return false;
    const { spec, wantsBuffers } = command;
    const keys = keyTexts(command);
    const args = keys === null ? null : argumentTexts(command.args);
    if (keys === null || args === null) return false;
    const { matches, isBroadcast } = this.settings;
    if ((ttlMs === null || isBroadcast) && matches !== null && !keys.every(matches)) return false;
    const reply = this.store.find(keys[0], spec, args, wantsBuffers);
    if (reply !== null && this.isUsable(reply) && isYoungEnough(reply, ttlMs)) {
      this.hit(reply);
      command.fulfilMapped(copyOf(reply.value, reply.kind));
      return true;
    }
    return this.join(command, keys, { spec, args, wantsBuffers });
  }

  /** True if the same read is under way; otherwise the command will be what others wait for. */
  private join(command: Command, keys: readonly [string, ...string[]], question: Question): boolean {
    this.report.note();
    const { epoch } = this.store;
    const { settings } = this;
    const ttlMs = command.extra?.cacheTtlMs ?? settings.ttlMs;
    const bornMs = clockMs();
    // An answer may be as old as its question, and that no older than one that is kept.
    const sinceMs = bornMs - Math.min(ttlMs, settings.maxStaleMs);
    // What a transformer of the user makes of the answer may be nothing that can be given to others too.
    const underWay = isMappedByUser(question.spec)
      ? undefined
      : this.reads.find(keys[0], question, epoch, sinceMs);
    if (underWay !== undefined) {
      this.joined++;
      underWay.join(command);
      return true;
    }
    this.misses++;
    const nodes = keys.map((key) => this.store.openNode(key)) as [KeyNode, ...KeyNode[]];
    const { asksTtl } = settings;
    const read = new PendingRead(this, nodes, question, { epoch, bornMs, ttlMs, asksTtl });
    this.reads.add(read);
    const extra = command.ensureExtra();
    extra.tracked = read;
    extra.addHook(read);
    return false;
  }

  /** The part of an answer that is kept, and given to those who waited for it. */
  private keepable(value: unknown): Pick<Content, "value" | "kind" | "bytes"> {
    const kind = kindOf(value);
    const bytes = sizeOf(value);
    if (!this.settings.isFrozen || hasBytes(value)) return { value: keptFrom(value, kind), kind, bytes };
    freezeDeep(value);
    return { value, kind: ValueKind.Shared, bytes };
  }

  private keep(
    read: PendingRead,
    connection: TrackedConnection,
    kept: Pick<Content, "value" | "kind" | "bytes">,
  ): void {
    const { nodes, question, terms } = read;
    const { bornMs, ttlMs } = terms;
    const { absentTtlMs } = this.settings;
    const isBrief =
      absentTtlMs !== null && (nodes.length > 1 || isMappedByUser(question.spec) || mayBeAbsence(kept.value));
    const expiresAtMs = bornMs + (isBrief ? Math.min(ttlMs, absentTtlMs) : ttlMs);
    this.stores++;
    read.kept = this.store.add(nodes, question, { ...kept, connection, bornMs, expiresAtMs });
  }

  private follow(command: Command, effect: Effect): void {
    switch (effect) {
      case Effect.Multi:
        this.begin(command);
        return;
      case Effect.Exec:
      case Effect.Discard:
        this.finish(command);
        return;
      default:
        this.hold(command, effect);
    }
  }

  private hold(command: Command, effect: Effect): void {
    if ((command.spec.flags & CommandFlag.Reset) !== 0) this.leaveTransaction();
    const hold = this.open ?? this.holdUntilEnd(command);
    hold.takeChanges(command, effect);
    if (effect !== Effect.Tracking) return;
    this.noteGuard(command);
    this.deps.onTrackingEnded();
  }

  private holdUntilEnd(command: Command): Hold {
    const hold = new Hold(this.holds);
    command.ensureExtra().addHook(hold);
    return hold;
  }

  /** From MULTI on what is issued runs with EXEC. */
  private begin(multi: Command): void {
    if (this.open !== null) return;
    const hold = new Hold(this.holds);
    this.open = hold;
    this.isDelicate = true;
    const onFailed = (): void => {
      if (this.open === hold) this.leaveTransaction();
    };
    multi.ensureExtra().addHook({ onFulfilled: () => {}, onFailed });
  }

  private finish(command: Command): void {
    const { open } = this;
    this.open = null;
    this.noteGuard(command);
    if (open === null) this.holdUntilEnd(command).takeAll();
    else command.ensureExtra().addHook(open);
  }

  private leaveTransaction(): void {
    this.open?.release();
    this.open = null;
    this.isDelicate = this.isWatching;
  }

  private noteGuard({ spec }: Command): void {
    if ((spec.flags & CommandFlag.Watch) !== 0) this.isWatching = true;
    else if ((spec.flags & UNGUARD) !== 0) this.isWatching = false;
    this.isDelicate = this.isWatching || this.open !== null;
  }

  private dropAll(): void {
    const isNews = this.store.size > 0;
    this.store.dropAll();
    if (isNews) this.deps.onInvalidated(null);
  }
}

interface PeekedMethod {
  readonly name: string;
  readonly spec: CommandSpec;
  readonly wantsBuffers: boolean;
}

/** The command that a method of a client executes: `hget`, `hgetBuffer`. */
function methodOf(name: string): PeekedMethod {
  const wantsBuffers = name.endsWith(BUFFER_SUFFIX);
  return { name, spec: specOf(wantsBuffers ? name.slice(0, -BUFFER_SUFFIX.length) : name), wantsBuffers };
}

function isYoungEnough({ bornMs, connection }: CachedReply, ttlMs: number | null): boolean {
  return ttlMs === null || !isPast(bornMs + ttlMs, connection);
}

/** The time of a connection runs ahead by a tick: only in the last one the clock itself has to be asked. */
function isPast(timeMs: number, { nowMs }: TrackedConnection): boolean {
  return nowMs >= timeMs && clockMs() >= timeMs;
}

/** Keys as bytes or texts; null stands for all keys. */
function namesKeys(keys: Reply | undefined): keys is Argument[] | null {
  if (!Array.isArray(keys)) return keys === null;
  return keys.every((key) => typeof key === "string" || Buffer.isBuffer(key));
}

/** The keys of a read as texts; null if one is none. */
function keyTexts({ spec, args }: Command): [string, ...string[]] | null {
  const keys: string[] = [];
  for (const position of keyPositions(spec, args)) {
    const text = textOf(args[position] as Argument);
    if (text === null) return null;
    keys.push(text);
  }
  return keys.length === 0 ? null : (keys as [string, ...string[]]);
}
