/**
 * Readers of published messages. Each reader is an async iterator with a bounded buffer, or passes its entries to a
 * listener. Readers of the same name share one subscription, which ends with the last of them.
 *
 *   client event -> Feed (one for each event) -> the readers of the name -> buffer -> next()
 *
 * A reader reports each place where messages may be missing as an entry of kind "gap". It settles every `next()`, and
 * an error once. It must not unsubscribe a name that the program itself had subscribed. Readers of special messages
 * (`keyspace-events.ts`) differ in their entries only.
 */

import type { EventEmitter } from "node:events";
import Denque from "denque";
import { OptionError } from "../errors";
import { listenToAbort, stopListening } from "../util/abort-listeners";
import {
  booleanOnly,
  checkArgument,
  checkSettings,
  functionOnly,
  oneOf,
  type SettingChecks,
  signalOnly,
  wholeFrom,
} from "../util/check-settings";
import { callUser, toError } from "../util/user-code";
import { MessagesOverflowError } from "./message-errors";

export type MessagesKind = "channel" | "pattern" | "shard";

export interface MessagesOptions {
  /** The kind of the names. Default "channel". A cluster needs the option `shardedSubscribers` for "shard". */
  kind?: MessagesKind | undefined;
  /** Entries that may wait for the reader. Default 1,000. */
  maxBuffered?: number | undefined;
  /**
   * The effect of a message on a full buffer. "drop-oldest" (the default) drops the oldest message, and the reader finds
   * a gap in its place. "error" unsubscribes; after the buffered entries the iteration throws `MESSAGES_OVERFLOW`.
   */
  onOverflow?: "drop-oldest" | "error" | undefined;
  /** Payloads are Buffers. Default false. */
  buffers?: boolean | undefined;
  /** Ends the iteration, as `close()` does. */
  signal?: AbortSignal | undefined;
}

export interface PublishedMessage<Payload = string> {
  readonly kind: "message";
  readonly channel: string;
  /** The pattern that the channel matches; null without one. */
  readonly pattern: string | null;
  readonly message: Payload;
}

/** Messages may be missing at this point of the iteration. */
export interface MessageGap {
  readonly kind: "gap";
  /** The connection was lost and is restored, or the reader was too slow. */
  readonly cause: "reconnect" | "overflow";
  /** Messages that the client has dropped; null after a reconnect, because their number is unknown. */
  readonly dropped: number | null;
  /** Milliseconds without a connection; null for an overflow. */
  readonly lastedMs: number | null;
}

export type MessageEntry<Payload = string> = PublishedMessage<Payload> | MessageGap;

/** A reader of entries. */
export interface EntryReader<Entry> extends AsyncIterableIterator<Entry> {
  /** Resolves when the server has confirmed every name. Rejects with the error that also ends the iteration. */
  readonly ready: Promise<void>;
  /**
   * Passes each entry to the listener when it arrives, without a buffer. The promise resolves when the reader is closed,
   * and rejects with the error that ends it.
   */
  listen(listener: (entry: Entry) => void): Promise<void>;
  /** Ends the iteration and drops buffered entries. Resolves when the names that have no other reader are unsubscribed. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A reader of messages.
 *
 * @example
 * const news = redis.messages("news");
 * await news.ready;
 * await redis.duplicate().publish("news", "hello");
 * for await (const entry of news) {
 *   if (entry.kind === "message") break; // unsubscribes
 * }
 */
export interface Messages<Payload = string> extends EntryReader<MessageEntry<Payload>> {}

/** The client of the readers. */
export interface MessageSource {
  readonly events: EventEmitter;
  readonly isResubscribing: boolean;
  /** The name as the server knows it. */
  nameOf(kind: MessagesKind, name: string): string;
  isSubscribed(kind: MessagesKind, name: string): boolean;
  subscribe(kind: MessagesKind, name: string): Promise<unknown>;
  unsubscribe(kind: MessagesKind, name: string): Promise<unknown>;
}

/** The event `gap` of the client. */
interface SubscriptionGap extends Readonly<Record<(typeof GAP_LISTS)[MessagesKind], readonly string[]>> {
  readonly lastedMs: number;
}

/** How a reader turns messages into entries. */
export interface ReaderTerms<Entry extends Kinded> {
  /** The call that opens the reader, for errors. */
  readonly call: string;
  /**
   * Rejects if the servers would not send the messages. Called before the subscription and after each gap in it; null:
   * they always do.
   */
  readonly check: (() => Promise<void>) | null;
  /** The entry for a message; null: none. */
  entryOf(message: PublishedMessage<unknown>): Entry | null;
}

interface Kinded {
  readonly kind: string;
}

const PLAIN: ReaderTerms<PublishedMessage<unknown>> = {
  call: "messages()",
  check: null,
  entryOf: (message) => message,
};

const DEFAULT_MAX_BUFFERED = 1000;
const EVENTS = { channel: "message", pattern: "pmessage", shard: "smessage" } as const;
const GAP_LISTS = { channel: "channels", pattern: "patterns", shard: "shardChannels" } as const;
const DONE = { value: undefined, done: true } as const;

const hubs = new WeakMap<EventEmitter, Hub>();

/** Opens a reader of messages, and subscribes its names. */
export function openMessages(
  source: MessageSource,
  names: string | readonly string[],
  options: MessagesOptions = {},
): Messages<unknown> {
  checkSettings("messages()", options, CHECKS);
  return openReader(source, namesOf("messages()", "names", names), options, PLAIN);
}

/** Opens a reader with its own entries. */
export function openReader<Entry extends Kinded>(
  source: MessageSource,
  names: readonly string[],
  options: MessagesOptions,
  terms: ReaderTerms<Entry>,
): EntryReader<Entry | MessageGap> {
  if (!source.isResubscribing) {
    throw new OptionError(
      `${terms.call} cannot be used with autoResubscribe: false, because a lost connection would end the subscription without notice`,
    );
  }
  let hub = hubs.get(source.events);
  if (hub === undefined) {
    hub = new Hub(source);
    hubs.set(source.events, hub);
  }
  return new Reader(hub, names, options, terms);
}

/** The part of a reader that the hub uses. */
interface Listener {
  readonly isBinary: boolean;
  onMessage(message: PublishedMessage<unknown>): void;
  onGap(gap: MessageGap): void;
  finish(failure: Error | null): Promise<void>;
}

/** The readers of one client, and its subscriptions for them. */
class Hub {
  private readonly topics = new Map<string, Topic>();
  private readonly feeds = new Map<string, Feed>();
  /** The last UNSUBSCRIBE of each name that is not confirmed: the name is still subscribed, but not by the program. */
  private readonly leaving = new Map<string, Promise<unknown>>();

  constructor(private readonly source: MessageSource) {}

  /** Resolves when the name is subscribed. */
  enter(reader: Listener, kind: MessagesKind, given: string): Promise<unknown> {
    const name = this.source.nameOf(kind, given);
    if (this.topics.size === 0) {
      this.source.events.on("gap", this.onGap);
      this.source.events.on("nameRefused", this.onRefused);
      this.source.events.on("end", this.onEnd);
    }
    const key = `${kind} ${name}`;
    let topic = this.topics.get(key);
    if (topic === undefined) {
      const isOfProgram = !this.leaving.has(key) && this.source.isSubscribed(kind, name);
      topic = { kind, name, isOfProgram, readers: new Set(), subscribed: this.source.subscribe(kind, given) };
      this.topics.set(key, topic);
    }
    topic.readers.add(reader);
    this.feedOf(reader, kind).add(name, reader);
    return topic.subscribed;
  }

  /** Resolves when the name is unsubscribed, or still has readers. */
  async leave(reader: Listener, kind: MessagesKind, given: string): Promise<void> {
    const name = this.source.nameOf(kind, given);
    const key = `${kind} ${name}`;
    const topic = this.topics.get(key);
    if (topic === undefined || !topic.readers.delete(reader)) return;
    this.feedOf(reader, kind).delete(name, reader);
    if (topic.readers.size > 0) return;
    this.topics.delete(key);
    if (this.topics.size === 0) {
      this.source.events.off("gap", this.onGap);
      this.source.events.off("nameRefused", this.onRefused);
      this.source.events.off("end", this.onEnd);
    }
    if (topic.isOfProgram) return;
    const left = this.source.unsubscribe(kind, given).then(
      () => {
        if (this.leaving.get(key) === left) this.leaving.delete(key);
      },
      // The client has ended. If it connects again, it restores the name.
      () => {},
    );
    this.leaving.set(key, left);
    await left;
  }

  private feedOf({ isBinary }: Listener, kind: MessagesKind): Feed {
    const event = isBinary ? `${EVENTS[kind]}Buffer` : EVENTS[kind];
    let feed = this.feeds.get(event);
    if (feed === undefined) {
      feed = new Feed(this.source.events, event, kind === "pattern");
      this.feeds.set(event, feed);
    }
    return feed;
  }

  private readonly onGap = (gap: SubscriptionGap): void => {
    const entry = { kind: "gap", cause: "reconnect", dropped: null, lastedMs: gap.lastedMs } as const;
    const told = new Set<Listener>();
    for (const { kind, name, readers } of this.topics.values()) {
      if (gap[GAP_LISTS[kind]].includes(name)) for (const reader of readers) told.add(reader);
    }
    for (const reader of told) reader.onGap(entry);
  };

  private readonly onRefused = (kind: MessagesKind, name: string, error: Error): void => {
    for (const topic of [...this.topics.values()])
      if (topic.kind === kind && topic.name === name) finish(topic, error);
  };

  /** The client has ended. */
  private readonly onEnd = (): void => {
    for (const topic of [...this.topics.values()]) finish(topic, null);
  };
}

function finish({ readers }: Topic, failure: Error | null): void {
  for (const reader of [...readers]) void reader.finish(failure);
}

interface Topic {
  readonly kind: MessagesKind;
  /** With the prefix that the client adds. */
  readonly name: string;
  /** The program had subscribed the name before. */
  readonly isOfProgram: boolean;
  readonly readers: Set<Listener>;
  readonly subscribed: Promise<unknown>;
}

/** Passes the messages of one event to the readers of their name. Listens while it has readers. */
class Feed {
  /** Lists are replaced, not changed: a listener may open and close readers. */
  private readonly readers = new Map<string, readonly Listener[]>();

  constructor(
    private readonly events: EventEmitter,
    private readonly event: string,
    private readonly isOfPatterns: boolean,
  ) {}

  add(name: string, reader: Listener): void {
    if (this.readers.size === 0) this.events.on(this.event, this.listener);
    this.readers.set(name, [...(this.readers.get(name) ?? []), reader]);
  }

  delete(name: string, reader: Listener): void {
    const left = (this.readers.get(name) ?? []).filter((one) => one !== reader);
    if (left.length > 0) this.readers.set(name, left);
    else this.readers.delete(name);
    if (this.readers.size === 0) this.events.off(this.event, this.listener);
  }

  private get listener(): (...args: [string, unknown, unknown]) => void {
    return this.isOfPatterns ? this.onPattern : this.onChannel;
  }

  private readonly onChannel = (channel: unknown, message: unknown): void => {
    this.pass(String(channel), null, channel, message);
  };

  private readonly onPattern = (pattern: string, channel: unknown, message: unknown): void => {
    this.pass(pattern, pattern, channel, message);
  };

  private pass(name: string, pattern: string | null, channel: unknown, message: unknown): void {
    const readers = this.readers.get(name);
    if (readers === undefined) return;
    const entry = { kind: "message", channel: String(channel), pattern, message } as const;
    for (const reader of readers) reader.onMessage(entry);
  }
}

interface Waiting<Entry> {
  resolve(result: IteratorResult<Entry, undefined>): void;
  reject(error: Error): void;
}

class Reader<Own extends Kinded> implements EntryReader<Own | MessageGap>, Listener {
  readonly ready: Promise<void>;
  readonly isBinary: boolean;
  private readonly kind: MessagesKind;
  private readonly maxBuffered: number;
  private readonly buffer = new Denque<Own | MessageGap>();
  private readonly waiting = new Denque<Waiting<Own | MessageGap>>();
  /** The number of messages dropped before the first buffered entry. */
  private dropped = 0;
  private isOver = false;
  /** The error that the iteration still has to throw. */
  private failure: Error | null = null;
  private listener: ((entry: Own | MessageGap) => void) | null = null;
  private left: Promise<void> | null = null;
  private readonly onAbort = (): void => void this.close();

  constructor(
    private readonly hub: Hub,
    private readonly names: readonly string[],
    private readonly options: MessagesOptions,
    private readonly terms: ReaderTerms<Own>,
  ) {
    this.kind = options.kind ?? "channel";
    this.isBinary = options.buffers === true;
    this.maxBuffered = options.maxBuffered ?? DEFAULT_MAX_BUFFERED;
    const { signal } = options;
    if (signal?.aborted === true) {
      this.isOver = true;
      this.ready = Promise.resolve();
      return;
    }
    if (signal !== undefined) listenToAbort(signal, this.onAbort);
    this.ready = this.enter();
    // The iteration throws the same error, so an unused `ready` must not cause an unhandled rejection.
    this.ready.catch(() => {});
  }

  next(): Promise<IteratorResult<Own | MessageGap, undefined>> {
    const value = this.take();
    if (value !== undefined) return Promise.resolve({ value, done: false });
    const { failure } = this;
    if (failure !== null) {
      this.failure = null;
      return Promise.reject(failure);
    }
    if (this.isOver) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  /** Does not wait for the server, because a `break` would otherwise wait for a reconnect. */
  return(): Promise<IteratorResult<Own | MessageGap, undefined>> {
    void this.close();
    return Promise.resolve(DONE);
  }

  async listen(listener: (entry: Own | MessageGap) => void): Promise<void> {
    checkArgument("listen()", "listener", listener, functionOnly);
    for (let entry = this.take(); entry !== undefined; entry = this.take()) tell(listener, entry);
    this.listener = listener;
    // Entries no longer reach the buffer, so this settles at the end.
    await this.next();
  }

  close(): Promise<void> {
    this.buffer.clear();
    this.dropped = 0;
    this.failure = null;
    return this.finish(null);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  onMessage(message: PublishedMessage<unknown>): void {
    const entry = this.terms.entryOf(message);
    if (entry !== null) this.offer(entry);
  }

  onGap(gap: MessageGap): void {
    this.offer(gap);
    this.terms.check?.().catch((error) => void this.finish(toError(error)));
  }

  private offer(entry: Own | MessageGap): void {
    if (this.isOver) return;
    if (this.listener !== null) tell(this.listener, entry);
    else if (this.waiting.length > 0) this.waiting.shift()?.resolve({ value: entry, done: false });
    else {
      this.buffer.push(entry);
      if (this.buffer.length > this.maxBuffered) this.overflow();
    }
  }

  /** Ends the iteration after the buffered entries. */
  finish(failure: Error | null): Promise<void> {
    if (this.isOver) return this.left ?? Promise.resolve();
    this.isOver = true;
    const { signal } = this.options;
    if (signal !== undefined) stopListening(signal, this.onAbort);
    this.failure = failure;
    for (let one = this.waiting.shift(); one !== undefined; one = this.waiting.shift()) {
      if (this.failure === null) one.resolve(DONE);
      else {
        one.reject(this.failure);
        this.failure = null;
      }
    }
    this.left = Promise.all(this.names.map((name) => this.hub.leave(this, this.kind, name))).then(() => {});
    return this.left;
  }

  private async enter(): Promise<void> {
    try {
      if (this.terms.check !== null) await this.terms.check();
      if (this.isOver) return;
      await Promise.all(this.names.map((name) => this.hub.enter(this, this.kind, name)));
    } catch (thrown) {
      const error = toError(thrown);
      void this.finish(error);
      throw error;
    }
  }

  private take(): Own | MessageGap | undefined {
    const { dropped } = this;
    if (dropped === 0) return this.buffer.shift();
    this.dropped = 0;
    return { kind: "gap", cause: "overflow", dropped, lastedMs: null };
  }

  private overflow(): void {
    if (this.options.onOverflow === "error") {
      this.buffer.pop();
      void this.finish(new MessagesOverflowError(this.names, this.maxBuffered));
      return;
    }
    // A gap among the dropped entries becomes a part of the gap in front.
    while (this.buffer.shift()?.kind === "gap") {}
    this.dropped++;
  }
}

function tell<Entry>(listener: (entry: Entry) => void, entry: Entry): void {
  callUser(() => listener(entry));
}

/** One name, or a list of names without repetitions. */
export function namesOf(call: string, argument: string, names: unknown): readonly string[] {
  const list: unknown = typeof names === "string" ? [names] : names;
  checkArgument(call, argument, list, namesOnly);
  return [...new Set(list as readonly string[])];
}

export function namesOnly(value: unknown): string | null {
  const isList = Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string");
  return typeof value === "string" || isList ? null : "a string, or a list of strings";
}

/** The settings of every reader. */
export const READER_CHECKS = {
  maxBuffered: wholeFrom(1),
  onOverflow: oneOf("drop-oldest", "error"),
  signal: signalOnly,
};

const CHECKS: SettingChecks<MessagesOptions> = {
  ...READER_CHECKS,
  kind: oneOf(...Object.keys(EVENTS)),
  buffers: booleanOnly,
};
