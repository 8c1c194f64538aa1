/** Emits events of a client without crashing the process. */

import type { EventEmitter } from "node:events";
import type { SubscriptionKind } from "../connection/subscriptions";
import { type Message, MessagePart } from "../protocol/message";
import { nextTick } from "../util/scheduling";
import { callUser } from "../util/user-code";

/** Tells the readers of messages that the server refuses a name, even one that it had accepted before. */
export function emitRefusal(client: EventEmitter, kind: SubscriptionKind, name: Buffer, error: Error): void {
  callUser(() => client.emit("nameRefused", kind, String(name), error));
}

/** The same events with Buffers. */
const BUFFER_EVENTS = {
  message: "messageBuffer",
  pmessage: "pmessageBuffer",
  smessage: "smessageBuffer",
} as const;

const { Pattern, Channel, Payload } = MessagePart;

/** Emits a published message as text, then as Buffers, if there are listeners. Patterns remain text. */
export function emitMessage(client: EventEmitter, message: Message): void {
  const { kind } = message;
  if (client.listenerCount(kind) > 0)
    callUser(() => {
      if (kind !== "pmessage") client.emit(kind, message.text(Channel), message.text(Payload));
      else client.emit(kind, message.text(Pattern), message.text(Channel), message.text(Payload));
    });
  const bufferEvent = BUFFER_EVENTS[kind];
  if (client.listenerCount(bufferEvent) > 0)
    callUser(() => {
      if (kind !== "pmessage") client.emit(bufferEvent, message.value(Channel), message.value(Payload));
      else client.emit(bufferEvent, message.text(Pattern), message.value(Channel), message.value(Payload));
    });
}

/** Emits an event at the end of the task, because listeners may be attached after the call that causes it. */
export function emitLater(client: EventEmitter, event: string, ...args: unknown[]): void {
  nextTick(() => client.emit(event, ...args));
}

/** Emits an event that has listeners. An `error` without a listener is printed, unless the client has ended. */
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
