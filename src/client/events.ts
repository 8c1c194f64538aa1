/** Emitting events of a client without ever crashing the process. */

import type { EventEmitter } from "node:events";
import type { SubscriptionKind } from "../connection/subscriptions";
import type { Reply } from "../protocol/resp-types";
import { nextTick } from "../util/scheduling";
import { callUser } from "../util/user-code";

const MESSAGE_EVENTS = ["message", "pmessage", "smessage"] as const;

/** A published message: as text for those who listen for text, then as Buffers. */
export interface Message {
  readonly kind: SubscriptionKind;
  readonly pattern: Buffer | null;
  readonly channel: Buffer;
  /** A Buffer but for client tracking over RESP2. */
  readonly payload: Reply;
}

export function emitMessage(client: EventEmitter, { kind, pattern, channel, payload }: Message): void {
  const event = MESSAGE_EVENTS[kind];
  const patterns = pattern === null ? [] : [pattern.toString()];
  if (client.listenerCount(event) > 0) {
    callUser(() =>
      client.emit(event, ...patterns, channel.toString(), payload === null ? "" : String(payload)),
    );
  }
  if (client.listenerCount(`${event}Buffer`) > 0) {
    callUser(() => client.emit(`${event}Buffer`, ...patterns, channel, payload));
  }
}

/** Emits an event at the end of the present run: listeners may be set behind the call that leads to it. */
export function emitLater(client: EventEmitter, event: string, ...args: unknown[]): void {
  nextTick(() => client.emit(event, ...args));
}

/**
 * Emits an event if somebody listens. An `error` that nobody hears is printed; one that comes
 * after the end is not worth a word.
 */
export function reportSilently(
  client: EventEmitter & { readonly status: string },
  event: string,
  args: unknown[],
): boolean {
  if (event === "error" && client.status === "end") return false;
  if (client.listenerCount(event) > 0) return client.emit(event, ...args);
  if (event === "error") {
    const error = args[0];
    console.error("[sluice] Unhandled error event:", error instanceof Error ? error.stack : error);
  }
  return false;
}
