/** Opens the streams of a client: scans, and readers of messages and events. Their code is loaded on first use. */

import type { EventEmitter } from "node:events";
import { specOf } from "../../command/command-table";
import { type Caller, EXECUTE } from "../../command/commander";
import { SUBSCRIBING, type SubscriptionKind } from "../../connection/subscriptions";
import type { KeyspaceEvents, KeyspaceEventsOptions } from "../../streaming/keyspace-events";
import type { MessageSource, Messages, MessagesOptions } from "../../streaming/messages";
import type { ScanStream, ScanStreamOptions, ScanStreamSettings } from "../../streaming/scan-stream";
import { LatePart } from "../../util/late-part";
import { warnOnce } from "../options/option-warnings";
import type { NotifiedClient } from "./keyspace";

export type {
  KeyspaceEvents,
  KeyspaceEventsOptions,
  Messages,
  MessagesOptions,
  ScanStream,
  ScanStreamOptions,
};

export const scanStreams = new LatePart(
  "scan-streams",
  () => require("../../streaming/scan-stream") as typeof import("../../streaming/scan-stream"),
);
export const messageReaders = new LatePart(
  "messages",
  () => require("./message-readers") as typeof import("./message-readers"),
);

/** Whether a name is subscribed, or will be restored. */
export const IS_SUBSCRIBED: unique symbol = Symbol("isSubscribed");

/** A client that subscribes for readers of messages. */
export interface SubscribingClient extends EventEmitter, Caller {
  readonly options: {
    readonly keyPrefix?: string | Buffer | undefined;
    readonly autoResubscribe?: boolean | undefined;
    readonly redisOptions?: { readonly autoResubscribe?: boolean | undefined } | undefined;
  };
  [IS_SUBSCRIBED](kind: SubscriptionKind, name: Buffer): boolean;
}

export function openScan(settings: ScanStreamSettings): ScanStream {
  // node-redis has these names in capital letters. Without `match`, the stream returns every key.
  for (const name of ["MATCH", "COUNT", "TYPE"])
    if (name in settings)
      warnOnce(
        "SLUICE_UNKNOWN_OPTION",
        name,
        `is unknown and has no effect; "${name.toLowerCase()}" is probably meant`,
      );
  const { ScanStream } = scanStreams.get();
  return new ScanStream(settings);
}

/** The arguments of a scan after its cursor. */
export function argumentsOfScan(options: ScanStreamOptions): unknown[] {
  return scanStreams.get().scanArguments(options);
}

export function openMessages(
  client: SubscribingClient,
  names: string | readonly string[],
  options: MessagesOptions | undefined,
): Messages<unknown> {
  return messageReaders.get().openMessages(messageSourceOf(client), names, options);
}

export function openKeyspaceEvents(
  client: SubscribingClient & NotifiedClient,
  options: KeyspaceEventsOptions | undefined,
): KeyspaceEvents {
  return messageReaders.get().openKeyspaceEvents(client, messageSourceOf(client), options);
}

function messageSourceOf(client: SubscribingClient): MessageSource {
  const { autoResubscribe, redisOptions } = client.options;
  const send = (command: string, name: string) => client[EXECUTE](specOf(command), [name], false);
  return {
    events: client,
    isResubscribing: (autoResubscribe ?? redisOptions?.autoResubscribe) !== false,
    // The key prefix applies to shard channels only.
    nameOf: (kind, name) => (kind === "shard" ? `${client.options.keyPrefix ?? ""}${name}` : name),
    isSubscribed: (kind, name) => client[IS_SUBSCRIBED](kind, Buffer.from(name)),
    subscribe: (kind, name) => send(SUBSCRIBING[kind].enter, name),
    unsubscribe: (kind, name) => send(SUBSCRIBING[kind].leave, name),
  };
}
