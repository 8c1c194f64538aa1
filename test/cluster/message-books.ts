/**
 * Books of numbered messages: each channel has one publisher, which waits for the answer before
 * it publishes the next number. Every number that was not heard has to be accounted for: by the
 * answer that its publisher got, or by a `gap` event of the subscriber.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";

/** Between what a server does and the moment a busy client hears of it. */
const NOTICE_MS = 2000;
const BETWEEN_MESSAGES_MS = 4;
const LAST_MESSAGE_TIMEOUT_MS = 10_000;

interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

interface Message {
  readonly publishedAtMs: number;
  /** The answer of the server; an error: the publisher was told that it may be lost. */
  answer: number | Error | null;
}

export interface ChannelReport {
  readonly channel: string;
  readonly published: number;
  readonly missed: number;
  readonly gaps: number;
  /** Missed, and the publisher got an error. */
  readonly refused: number;
  /** Missed, and answered 0 by a node: it was a master until then, and has no listeners of its own. */
  readonly takenByNobody: number;
  /** Missed within a gap that was told. */
  readonly toldByGap: number;
  /** Missed, and nobody was told. */
  readonly untold: number;
  /** Heard again, where no shard changed its master in between. */
  readonly twice: number;
  /**
   * Heard behind a later one, where the shard did not change its master in between. Classic messages are not judged:
   * each is published at some node, and one node may pass on faster than another.
   */
  readonly outOfOrder: number;
}

/** Everything about one channel. */
class ChannelBook {
  readonly heard: number[] = [];
  readonly gaps: Period[] = [];
  private readonly messages: Message[] = [];
  private isStopped = false;
  private work: Promise<void> | null = null;

  constructor(
    readonly channel: string,
    private readonly publish: (number: number) => Promise<number>,
    private readonly isSharded: boolean,
  ) {}

  start(): void {
    const run = async (): Promise<void> => {
      while (!this.isStopped) {
        await this.publishOne();
        await sleep(BETWEEN_MESSAGES_MS);
      }
    };
    this.work = run();
  }

  /** Ends the publisher; one more message, when it is heard, closes the book. */
  async finish(): Promise<void> {
    this.isStopped = true;
    await this.work;
    const isHeard = async (): Promise<boolean> => {
      await this.publishOne();
      await sleep(50);
      return this.heard.at(-1) === this.messages.length - 1;
    };
    await waitUntil(isHeard, {
      timeoutMs: LAST_MESSAGE_TIMEOUT_MS,
      what: `the last message on ${this.channel}`,
    });
  }

  report(upheavals: readonly Period[]): ChannelReport {
    const heard = new Set(this.heard);
    const missed = [...this.messages.entries()].filter(([number]) => !heard.has(number));
    const reasons = missed.map(([, message]) => this.reasonOf(message));
    const count = (reason: string): number => reasons.filter((one) => one === reason).length;
    const calm = this.heardCalmly(upheavals);
    return {
      channel: this.channel,
      published: this.messages.length,
      missed: missed.length,
      gaps: this.gaps.length,
      refused: count("refused"),
      takenByNobody: count("takenByNobody"),
      toldByGap: count("toldByGap"),
      untold: count("untold"),
      twice: calm.length - new Set(calm).size,
      outOfOrder: this.isSharded
        ? calm.filter((number, i) => i > 0 && number < (calm[i - 1] as number)).length
        : 0,
    };
  }

  private reasonOf({ answer, publishedAtMs }: Message): string {
    if (answer instanceof Error) return "refused";
    if (this.gaps.some(({ fromMs, toMs }) => publishedAtMs > fromMs - NOTICE_MS && publishedAtMs < toMs))
      return "toldByGap";
    return this.isSharded && answer === 0 ? "takenByNobody" : "untold";
  }

  /**
   * What was heard, without what was published during an upheaval: such a message may go around by the node that was
   * demoted, be overtaken by one that its successor took, and reach the subscriber from both.
   */
  private heardCalmly(upheavals: readonly Period[]): number[] {
    return this.heard.filter((number) => {
      const { publishedAtMs } = this.messages[number] as Message;
      return !upheavals.some(({ fromMs, toMs }) => publishedAtMs >= fromMs && publishedAtMs <= toMs);
    });
  }

  private async publishOne(): Promise<void> {
    const message: Message = { publishedAtMs: performance.now(), answer: null };
    const number = this.messages.push(message) - 1;
    message.answer = await this.publish(number).catch((error: Error) => error);
  }
}

export class MessageBooks {
  private readonly sharded: readonly ChannelBook[];
  private readonly classic: readonly ChannelBook[];
  private readonly upheavals: Period[] = [];

  constructor(
    private readonly publisher: Cluster,
    private readonly subscriber: Cluster,
    channels: { readonly sharded: readonly string[]; readonly classic: readonly string[] },
  ) {
    this.sharded = channels.sharded.map(
      (channel) => new ChannelBook(channel, (number) => publisher.spublish(channel, number), true),
    );
    this.classic = channels.classic.map(
      (channel) => new ChannelBook(channel, (number) => publisher.publish(channel, number), false),
    );
  }

  /** Subscribes and begins to publish. */
  async start(): Promise<void> {
    const { subscriber, sharded, classic } = this;
    this.enter("message", classic);
    this.enter("smessage", sharded);
    subscriber.on("gap", ({ channels, shardChannels, lastedMs }) => {
      const toMs = performance.now();
      const gap = { fromMs: toMs - lastedMs, toMs };
      for (const book of classic) if (channels.includes(book.channel)) book.gaps.push(gap);
      for (const book of sharded) if (shardChannels.includes(book.channel)) book.gaps.push(gap);
    });
    for (const { channel } of sharded) await subscriber.ssubscribe(channel);
    if (classic.length > 0) await subscriber.subscribe(...classic.map(({ channel }) => channel));
    for (const book of this.books) book.start();
  }

  /** Until the publisher is told of the new masters, messages go to nodes that are none any more. */
  async during(upheaval: () => Promise<unknown>): Promise<void> {
    const fromMs = performance.now();
    await upheaval();
    await this.publisher.refreshSlotsCache();
    this.upheavals.push({ fromMs, toMs: performance.now() });
  }

  async finish(): Promise<ChannelReport[]> {
    await Promise.all(this.books.map((book) => book.finish()));
    return this.books.map((book) => book.report(this.upheavals));
  }

  private get books(): readonly ChannelBook[] {
    return [...this.sharded, ...this.classic];
  }

  private enter(event: string, books: readonly ChannelBook[]): void {
    const byChannel = new Map(books.map((book) => [book.channel, book]));
    this.subscriber.on(event, (channel: string, text: string) => {
      byChannel.get(channel)?.heard.push(Number(text));
    });
  }
}
