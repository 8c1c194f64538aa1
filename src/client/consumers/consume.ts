/**
 * `redis.consume()` in its two forms. The loop form processes one message after the other, because a client
 * cannot see when the body of a loop has ended. The next call of `next()` acknowledges the previous message.
 * The handler form awaits the promise of its function, so it can process several messages at the same time.
 */

import { OptionError } from "../../errors";
import { listenToAbort, stopListening } from "../../util/abort-listeners";
import {
  booleanOnly,
  checkArgument,
  checkSettings,
  functionOnly,
  type SettingChecks,
  signalOnly,
  wholeFrom,
} from "../../util/check-settings";
import { LONGEST_TIMER_MS } from "../../util/scheduling";
import { isThenable, toError } from "../../util/user-code";
import { SOURCE } from "../client-base";
import { Consumer, type ConsumerSettings } from "./consumer";
import type { ConsumingClient } from "./consuming-client";
import type { Delivery, StreamMessage } from "./delivery";

/** Settings of `redis.consume()`. Times are milliseconds. */
export interface ConsumeOptions<Buffers extends boolean = boolean> {
  /** The stream, or several of them. */
  stream: string | readonly string[];
  /** The consumer group. It is created if it does not exist; see `create`. */
  group: string;
  /** The name of this consumer: unique among the running consumers of the group. */
  consumer: string;
  /**
   * Limit of messages of a stream in one read. Messages that are not started yet wait in this process.
   * @default 10
   */
  count?: number | undefined;
  /**
   * The longest time that a read waits at the server.
   * @default 5000
   */
  blockMs?: number | undefined;
  /**
   * The time after which messages of a dead consumer are delivered to another one; at least 100. Living consumers renew the
   * messages that they process, so the work may take any time.
   * @default 30000
   */
  claimIdleMs?: number | undefined;
  /**
   * The ID after which a new group reads: `"0"` delivers all messages of the stream, `"$"` only later ones. With `false`,
   * the group must exist.
   * @default "0"
   */
  create?: string | false | undefined;
  /** Moves messages to another stream after `maxDeliveries` (default 5) deliveries without an acknowledgement. */
  deadLetter?: { stream: string; maxDeliveries?: number | undefined } | undefined;
  /**
   * Values are Buffers.
   * @default false
   */
  buffers?: Buffers | undefined;
  /** Ends the consumer after the messages in progress. */
  signal?: AbortSignal | undefined;
}

/** Settings of `redis.consume()` with a handler. */
export interface ConsumeHandlerOptions<Buffers extends boolean = boolean> extends ConsumeOptions<Buffers> {
  /**
   * Limit of messages that are processed at the same time.
   * @default 1
   */
  concurrency?: number | undefined;
  /**
   * Called when the handler has failed; the message is delivered again after `claimIdleMs`. Without this function, the error
   * ends the consumer.
   */
  onError?: ((error: Error, message: StreamMessage<StreamValue<Buffers>>) => unknown) | undefined;
}

/** Values of messages: Buffers with the option `buffers`. */
export type StreamValue<Buffers extends boolean> = Buffers extends true ? Buffer : string;

/** The messages of a consumer group, for one `for await` loop. */
export interface StreamMessages<Value = string> extends AsyncIterableIterator<StreamMessage<Value>> {
  /** Ends the consumer, as `break` does. Resolves when the acknowledgements are confirmed. */
  return(): Promise<IteratorResult<StreamMessage<Value>, undefined>>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Processes one message. When its promise resolves, the message is acknowledged. */
export type MessageHandler<Value = string> = (message: StreamMessage<Value>) => unknown;

type Message = StreamMessage<string | Buffer>;

const DEFAULT_COUNT = 10;
const DEFAULT_BLOCK_MS = 5000;
const DEFAULT_CLAIM_MS = 30_000;
/** A shorter time would renew messages all the time. */
const LEAST_CLAIM_MS = 100;
const DEFAULT_MAX_DELIVERIES = 5;
const DONE = { value: undefined, done: true } as const;

/** Returns the messages or, with a handler, a promise of the end of the consumer. */
export function consume(
  client: ConsumingClient,
  options: ConsumeOptions,
  handler?: MessageHandler<never>,
): StreamMessages<string | Buffer> | Promise<void> {
  if (handler !== undefined) return handle(client, options, handler as MessageHandler<string | Buffer>);
  const settings = settingsOf(client, options);
  for (const name of ["concurrency", "onError"] as const) {
    if ((options as ConsumeHandlerOptions)[name] !== undefined) {
      throw new OptionError(
        `The option "${name}" of consume() needs a handler, because the client cannot see when the body of a loop has ended: redis.consume(options, async (message) => { ... })`,
      );
    }
  }
  return new MessageLoop(client, settings, options.signal);
}

class MessageLoop implements StreamMessages<string | Buffer> {
  private consumer: Consumer | null = null;
  private current: Delivery | null = null;
  private isOver = false;

  constructor(
    private readonly client: ConsumingClient,
    private readonly settings: ConsumerSettings,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async next(): Promise<IteratorResult<Message, undefined>> {
    if (this.isOver) return DONE;
    const consumer = this.consumer ?? this.open();
    void this.current?.ack();
    this.current = await consumer.take();
    if (this.current !== null) return { value: this.current, done: false };
    await this.end();
    return DONE;
  }

  /** The body has not finished with its message, or has failed: the server delivers it again. */
  async return(): Promise<IteratorResult<Message, undefined>> {
    if (this.current !== null) this.consumer?.drop(this.current);
    await this.end();
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  private open(): Consumer {
    const { signal } = this;
    this.consumer = new Consumer(this.client, this.settings);
    if (signal !== undefined) listenToAbort(signal, this.onAbort);
    if (signal?.aborted) this.consumer.halt();
    return this.consumer;
  }

  private async end(): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    if (this.signal !== undefined) stopListening(this.signal, this.onAbort);
    await this.consumer?.close();
  }

  private readonly onAbort = (): void => this.consumer?.halt();
}

/** Resolves when the signal has ended the consumer. */
async function handle(
  client: ConsumingClient,
  options: ConsumeHandlerOptions,
  handler: MessageHandler<string | Buffer>,
): Promise<void> {
  checkArgument("consume()", "handler", handler, functionOnly);
  const settings = settingsOf(client, options);
  const { concurrency = 1, onError, signal } = options;
  if (signal?.aborted) return;
  const consumer = new Consumer(client, settings);
  const onAbort = (): void => consumer.halt();
  if (signal !== undefined) listenToAbort(signal, onAbort);
  const tell = async (error: Error, message: Message): Promise<void> => {
    if (onError === undefined) throw error;
    await onError(error, message as never);
  };
  const work = async (): Promise<void> => {
    for (;;) {
      // Each promise costs as much as the rest of a short handler.
      const message = consumer.takeReady() ?? (await consumer.take());
      if (message === null) return;
      try {
        const result = handler(message);
        if (isThenable(result)) await result;
        void message.ack();
      } catch (thrown) {
        consumer.refuse(message);
        await tell(toError(thrown), message).catch((error) => consumer.fail(error));
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
    await consumer.close();
  } finally {
    if (signal !== undefined) stopListening(signal, onAbort);
  }
}

const CHECKS: SettingChecks<ConsumeHandlerOptions> = {
  stream: (value) => (isName(value) || isNames(value) ? null : "the name of a stream, or a list of names"),
  group: nameOnly,
  consumer: nameOnly,
  count: wholeFrom(1),
  blockMs: wholeFrom(1),
  claimIdleMs: (value) =>
    wholeFrom(LEAST_CLAIM_MS)(value) === null && (value as number) <= LONGEST_TIMER_MS
      ? null
      : `an integer from ${LEAST_CLAIM_MS} to ${LONGEST_TIMER_MS}`,
  create: (value) => (value === false || isName(value) ? null : "an ID or false"),
  deadLetter: (value) => (isDeadLetter(value) ? null : "{ stream, maxDeliveries }"),
  buffers: booleanOnly,
  signal: signalOnly,
  concurrency: wholeFrom(1),
  onError: functionOnly,
};

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isName);
}

function nameOnly(value: unknown): string | null {
  return isName(value) ? null : "a name";
}

function isDeadLetter(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { stream, maxDeliveries = 1, ...others } = value as Record<string, unknown>;
  return isName(stream) && wholeFrom(1)(maxDeliveries) === null && Object.keys(others).length === 0;
}

function settingsOf(client: ConsumingClient, options: ConsumeOptions): ConsumerSettings {
  checkSettings<ConsumeHandlerOptions>("consume()", options, CHECKS);
  const { stream, group, consumer, create = "0", deadLetter, buffers = false } = options;
  for (const [name, value] of Object.entries({ stream, group, consumer }))
    if (value === undefined) throw new OptionError(`consume() needs the option "${name}"`);
  return {
    streams: typeof stream === "string" ? [stream] : [...new Set(stream)],
    group,
    consumer,
    count: options.count ?? DEFAULT_COUNT,
    blockMs: options.blockMs ?? DEFAULT_BLOCK_MS,
    claimIdleMs: options.claimIdleMs ?? DEFAULT_CLAIM_MS,
    create,
    deadLetter:
      deadLetter === undefined
        ? null
        : { stream: deadLetter.stream, maxDeliveries: deadLetter.maxDeliveries ?? DEFAULT_MAX_DELIVERIES },
    buffers,
    db: client[SOURCE].database,
  };
}
