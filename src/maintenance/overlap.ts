/**
 * Delivers each message once while two connections have the same subscriptions. Until the change, messages of the old
 * connection are delivered, and those of the new one are kept until the old one has delivered them too. The change
 * delivers the kept messages that remain. Afterwards only the new connection delivers. While the change is delayed, it
 * holds only messages that one of the two connections has not received.
 */

import type { MessageListener } from "../connection/push-router";
import { DecodedMessage, type Message, MessagePart } from "../protocol/message";
import type { Reply } from "../protocol/resp-types";

/** A message that both connections receive is delayed on one of them by no more than this. */
const LONGEST_DELAY_MS = 1000;

/** The messages of the old connection, and how often they were delivered. */
class Counts {
  private readonly counts = new Map<string, number>();

  add(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** Removes one message. Returns false if there is none. */
  take(key: string): boolean {
    const count = this.counts.get(key);
    if (count === undefined) return false;
    if (count === 1) this.counts.delete(key);
    else this.counts.set(key, count - 1);
    return true;
  }
}

export class Overlap {
  /** The messages of the new connection that the old one has not delivered since `begin`. */
  private readonly kept: { readonly key: string; readonly message: Message }[] = [];
  /** Counts before `begin`. The new connection may have missed these messages: they match only kept ones. */
  private readonly early = new Counts();
  private readonly delivered = new Counts();
  private hasBegun = false;
  private changedAtMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly listener: Pick<MessageListener, "onMessage">,
    /** The new connection. */
    private readonly next: unknown,
    private readonly clockMs: () => number,
  ) {}

  /** The new connection has all subscriptions. */
  begin(): void {
    this.hasBegun = true;
  }

  take(connection: unknown, message: Message): void {
    const hasChanged = this.changedAtMs < Number.POSITIVE_INFINITY;
    if (connection === this.next) {
      const key = keyOf(message);
      if (this.delivered.take(key)) return;
      if (hasChanged) this.listener.onMessage(message);
      else this.kept.push({ key, message: copyOf(message) });
    } else if (!hasChanged) {
      this.note(keyOf(message));
      this.listener.onMessage(message);
    }
  }

  change(): void {
    this.changedAtMs = this.clockMs();
    for (const { key, message } of this.kept.splice(0)) {
      if (!this.early.take(key)) this.listener.onMessage(message);
    }
  }

  /** Messages of the new connection no longer need a comparison. */
  get isOver(): boolean {
    return this.clockMs() - this.changedAtMs > LONGEST_DELAY_MS;
  }

  /** The old connection delivers a message. */
  private note(key: string): void {
    if (!this.hasBegun) {
      this.early.add(key);
      return;
    }
    const index = this.kept.findIndex((one) => one.key === key);
    if (index < 0) this.delivered.add(key);
    else this.kept.splice(index, 1);
  }
}

function keyOf(message: Message): string {
  const texts = partsOf(message).map((part) =>
    Buffer.isBuffer(part) ? part.toString("latin1") : JSON.stringify(part),
  );
  return JSON.stringify([message.kind, ...texts]);
}

/** A message of the parser is valid until the call returns. */
function copyOf(message: Message): Message {
  const copies = partsOf(message).map((part) => (Buffer.isBuffer(part) ? Buffer.from(part) : part));
  return new DecodedMessage(message.kind, copies);
}

function partsOf(message: Message): Reply[] {
  const pattern = message.kind === "pmessage" ? message.value(MessagePart.Pattern) : Buffer.alloc(0);
  return [pattern, message.value(MessagePart.Channel), message.value(MessagePart.Payload)];
}
