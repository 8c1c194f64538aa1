/**
 * Delivers each message once while two connections have the same subscriptions. Until the change, messages of the old
 * connection are delivered and those of the new one are kept. At the change, the kept messages that the old
 * connection has not delivered follow. Afterwards only the new connection delivers.
 */

import type { MessageListener } from "../connection/push-router";
import { DecodedMessage, type Message } from "../protocol/message";

/** A message that both connections receive is delayed on one of them by no more than this. */
const LONGEST_DELAY_MS = 1000;

export class Overlap {
  private readonly kept: Message[] = [];
  /** The messages of the old connection, and how often they were delivered. */
  private readonly delivered = new Map<string, number>();
  private changedAtMs = Number.POSITIVE_INFINITY;

  constructor(
    private readonly listener: Pick<MessageListener, "onMessage">,
    /** The new connection. */
    private readonly next: unknown,
    private readonly clockMs: () => number,
  ) {}

  take(connection: unknown, message: Message): void {
    const hasChanged = this.changedAtMs < Number.POSITIVE_INFINITY;
    if (connection === this.next) {
      if (hasChanged) this.deliver(message);
      else this.kept.push(copyOf(message));
    } else if (!hasChanged) {
      const key = keyOf(message);
      this.delivered.set(key, (this.delivered.get(key) ?? 0) + 1);
      this.listener.onMessage(message);
    }
  }

  change(): void {
    this.changedAtMs = this.clockMs();
    for (const message of this.kept.splice(0)) this.deliver(message);
  }

  /** The new connection needs no comparison any more. */
  get isOver(): boolean {
    return this.clockMs() - this.changedAtMs > LONGEST_DELAY_MS;
  }

  private deliver(message: Message): void {
    const key = keyOf(message);
    const count = this.delivered.get(key) ?? 0;
    if (count === 0) this.listener.onMessage(message);
    else this.delivered.set(key, count - 1);
  }
}

function keyOf(message: Message): string {
  const { kind } = message;
  const pattern = kind === "pmessage" ? message.patternBytes() : null;
  const payload = message.payload();
  const content = Buffer.isBuffer(payload) ? payload.toString("latin1") : JSON.stringify(payload);
  const names = [pattern, message.channelBytes()].map((name) => name?.toString("latin1") ?? "");
  return JSON.stringify([kind, ...names, content]);
}

/** A message of the parser is valid until the call returns. */
function copyOf(message: Message): Message {
  const { kind } = message;
  const pattern = kind === "pmessage" ? message.patternBytes() : Buffer.alloc(0);
  const payload = message.payload();
  return new DecodedMessage(
    kind,
    Buffer.from(pattern),
    Buffer.from(message.channelBytes()),
    Buffer.isBuffer(payload) ? Buffer.from(payload) : payload,
  );
}
