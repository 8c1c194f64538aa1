/**
 * The messages of one `consume()`. It passes them from the readers to the program, and keeps other consumers
 * from claiming them meanwhile. When it ends, it hands back the messages that were not taken.
 *
 *   readers, one for each slot -> ready -> take() -> the program -> ack(), refuse() or drop()
 *
 * A message that is neither acknowledged nor held is delivered again after `claimIdleMs`: its consumer has died, its reply
 * was lost, or its processing has failed.
 */

import Denque from "denque";
import { PromiseCompletion } from "../../command/promise-completion";
import { Script } from "../../command/script";
import { slotOfKey } from "../../command/slot";
import { startTimer, stopTimer, within } from "../../util/scheduling";
import { toError } from "../../util/user-code";
import { Acknowledgements } from "./acknowledgements";
import { type ConsumingClient, commandOf, isGroupMissing, isPassing } from "./consuming-client";
import { type DeliveredEntry, Delivery, Source, type Value } from "./delivery";
import { Sender } from "./sender";
import { type Intake, type ReadSettings, StreamReader } from "./stream-reader";

export interface DeadLetters {
  readonly stream: string;
  readonly maxDeliveries: number;
}

export interface ConsumerSettings extends ReadSettings {
  readonly streams: readonly string[];
  readonly deadLetter: DeadLetters | null;
}

/** Held messages are renewed this many times within `claimIdleMs`. */
const RENEWALS = 3;

/** Time limit for handing messages back. Without a reply, they are delivered again after `claimIdleMs`. */
const HAND_BACK_MS = 1000;

/**
 * Sets the idle time of messages that the consumer still has. Key: the stream. Arguments: group, consumer,
 * idle time in ms, number to subtract from the delivery count, IDs. Returns the IDs that another consumer has
 * taken. No consumer can take a message that was trimmed from the stream.
 */
const HOLD = new Script(
  {
    numberOfKeys: 1,
    lua: `
local lost = {}
for i = 5, #ARGV do
  local row = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)[1]
  if row and row[2] == ARGV[2] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[i], 'IDLE', ARGV[3], 'RETRYCOUNT', row[4] - ARGV[4], 'JUSTID')
  elseif row or #redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i]) > 0 then
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
`,
  },
  undefined,
);

export class Consumer implements Intake {
  private readonly sources: readonly Source[];
  private readonly readers: readonly StreamReader[];
  private readonly sender: Sender;
  private readonly acknowledgements: Acknowledgements;
  private readonly ready = new Denque<Delivery>();
  private readonly takers = new Denque<(delivery: Delivery | null) => void>();
  /** Readers that wait until messages are wanted. */
  private idle: (() => void)[] = [];
  private readonly burials = new Set<Promise<void>>();
  private failure: Error | null = null;
  private isHalted = false;
  private isClosed = false;
  private readonly running: Promise<unknown>;
  private left: Promise<void> = Promise.resolve();

  constructor(
    private readonly client: ConsumingClient,
    private readonly settings: ConsumerSettings,
  ) {
    this.sources = settings.streams.map((name) => new Source(name, this.keyOf(name)));
    this.sender = new Sender(client, settings.db);
    const onFailed = (error: unknown): void => this.fail(error);
    this.acknowledgements = new Acknowledgements(client, this.sender, settings.group, onFailed);
    this.readers = bySlot(this.sources, client.isCluster).map(
      (sources) => new StreamReader(client, sources, settings, this),
    );
    this.running = Promise.all(this.readers.map((reader) => reader.run()));
    for (const source of this.sources) this.renewLater(source);
  }

  /** Resolves with the next message, or with null when the consumer has been halted. */
  take(): Promise<Delivery | null> {
    const delivery = this.takeReady();
    if (delivery !== null || this.isHalted) return Promise.resolve(delivery);
    return new Promise((resolve) => {
      this.takers.push(resolve);
      for (const wake of this.idle.splice(0)) wake();
    });
  }

  /** The next message that was read but not taken. Null without one, or when the consumer has been halted. */
  takeReady(): Delivery | null {
    if (this.isHalted) return null;
    for (let delivery = this.ready.shift(); delivery !== undefined; delivery = this.ready.shift()) {
      if (!delivery.isLost) return delivery;
      this.drop(delivery);
    }
    return null;
  }

  /** The message was not processed: it is delivered again after `claimIdleMs`. */
  drop({ source, id, isFinished }: Delivery): void {
    if (!isFinished) source.held.delete(id);
  }

  /** Its processing has failed: after the last allowed delivery it is moved to the dead-letter stream. */
  refuse(delivery: Delivery): void {
    if (delivery.isFinished) return;
    const { deadLetter } = this.settings;
    // A lost message belongs to another consumer.
    if (deadLetter !== null && !delivery.isLost && delivery.deliveries >= deadLetter.maxDeliveries)
      this.bury(delivery, deadLetter);
    else this.drop(delivery);
  }

  fail(error: unknown): void {
    this.failure ??= toError(error);
    this.halt();
  }

  /** Stops reading, and hands back the messages that were not taken. */
  halt(): void {
    if (this.isHalted) return;
    this.isHalted = true;
    for (let taker = this.takers.shift(); taker !== undefined; taker = this.takers.shift()) taker(null);
    for (const wake of this.idle.splice(0)) wake();
    for (const reader of this.readers) reader.stop();
    this.left = this.handBack();
  }

  /** Resolves when all acknowledgements are confirmed. Rejects with the error that has ended the consumer. */
  async close(): Promise<void> {
    this.halt();
    await this.left;
    await Promise.all(this.burials);
    await this.acknowledgements.settled();
    this.isClosed = true;
    await this.sender.end();
    for (const { renewal } of this.sources) stopTimer(renewal);
    if (this.failure !== null) throw this.failure;
  }

  // --- for the readers ---------------------------------------------------------------------

  demand(): Promise<void> {
    if (this.takers.length > 0 || this.isHalted) return Promise.resolve();
    return new Promise((resolve) => this.idle.push(resolve));
  }

  offer(source: Source, entry: DeliveredEntry): void {
    // After a pause of this process, it may claim a message that it still holds.
    if (source.held.has(entry.id)) return;
    const delivery = new Delivery(source, entry, this.acknowledgements);
    source.held.set(entry.id, delivery);
    const { deadLetter } = this.settings;
    if (deadLetter !== null && entry.deliveries > deadLetter.maxDeliveries) {
      this.bury(delivery, deadLetter);
      return;
    }
    const taker = this.takers.shift();
    if (taker === undefined) this.ready.push(delivery);
    else taker(delivery);
  }

  // --- private -----------------------------------------------------------------------------

  private bury(delivery: Delivery, deadLetter: DeadLetters): void {
    const burial = this.moveTo(deadLetter.stream, delivery).catch((error) => {
      // It is claimed again later.
      this.drop(delivery);
      if (!isPassing(error, this.client)) this.fail(error);
    });
    this.burials.add(burial);
    void burial.then(() => this.burials.delete(burial));
  }

  /** Acknowledges only after the copy is stored, so a failure in between stores two copies and loses none. */
  private async moveTo(stream: string, delivery: Delivery): Promise<void> {
    const { source, id, deliveries } = delivery;
    const origin = ["dead-letter:stream", source.name, "dead-letter:group", this.settings.group];
    const fate = ["dead-letter:id", id, "dead-letter:deliveries", deliveries];
    const key = this.keyOf(stream);
    const words = [key, "*", ...(await this.storedPairs(delivery)), ...origin, ...fate];
    await this.sender.send(key, commandOf("XADD", words));
    await delivery.ack();
  }

  /** The stored bytes of the fields, because their conversion to text may have lost some. */
  private async storedPairs({ source: { key }, id, pairs }: Delivery): Promise<readonly Value[]> {
    if (this.settings.buffers) return pairs;
    const reply = await this.sender.send(key, commandOf("XRANGE", [key, id, id], true));
    const [[, stored = pairs] = []] = reply as [id: Buffer, pairs: Buffer[]][];
    return stored;
  }

  private async handBack(): Promise<void> {
    await this.running;
    const left = this.ready.toArray();
    this.ready.clear();
    const idle = { idleMs: this.settings.claimIdleMs, takenBack: 1 };
    const returns = this.sources.map(async (source) => {
      const ids = left.filter((one) => one.source === source).map(({ id }) => id);
      for (const id of ids) source.held.delete(id);
      if (ids.length > 0) await this.hold(source, ids, idle).catch(() => {});
    });
    await within(HAND_BACK_MS, Promise.all(returns), []);
  }

  private renewLater(source: Source): void {
    source.renewal = startTimer(() => void this.renew(source), this.settings.claimIdleMs / RENEWALS);
    source.renewal.unref();
  }

  private async renew(source: Source): Promise<void> {
    const ids: string[] = [];
    for (const { id, isFinished } of source.held.values()) if (!isFinished) ids.push(id);
    if (ids.length === 0 && this.isHalted) return;
    try {
      const lost = ids.length === 0 ? [] : await this.hold(source, ids, { idleMs: 0, takenBack: 0 });
      for (const id of lost) source.held.get(id)?.lose();
    } catch (error) {
      // The reader deals with a missing group.
      if (!isPassing(error, this.client) && !isGroupMissing(error)) {
        this.fail(error);
        return;
      }
    }
    if (!this.isClosed) this.renewLater(source);
  }

  private async hold(
    { key }: Source,
    ids: readonly string[],
    { idleMs, takenBack }: { idleMs: number; takenBack: number },
  ): Promise<string[]> {
    const { group, consumer } = this.settings;
    const words = [key, group, consumer, idleMs, takenBack, ...ids];
    const command = HOLD.makeCommand(words, false, new PromiseCompletion());
    return this.sender.send(key, command) as Promise<string[]>;
  }

  private keyOf(name: string): string {
    return `${this.client.options.keyPrefix ?? ""}${name}`;
  }
}

/** Groups the streams that one command can read: all on one server, those of one slot on a cluster. */
function bySlot(sources: readonly Source[], isCluster: boolean): Source[][] {
  const groups = new Map<number, Source[]>();
  for (const source of sources) {
    const slot = isCluster ? slotOfKey(source.key) : 0;
    const group = groups.get(slot);
    if (group === undefined) groups.set(slot, [source]);
    else group.push(source);
  }
  return [...groups.values()];
}
