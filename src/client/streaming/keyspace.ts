/** Keyspace notifications of one server: the readers of its client. Loaded on first use. */

import { specOf } from "../../command/command-table";
import { type Caller, EXECUTE } from "../../command/commander";
import { type ClientSummary, SUMMARY } from "../../observability/redact";
import {
  type KeyspaceEvents,
  type KeyspaceEventsOptions,
  type NotifySetting,
  openKeyspaceEvents as openReader,
} from "../../streaming/keyspace-events";
import type { MessageSource } from "../../streaming/messages";

const SETTING = "notify-keyspace-events";

/** A client whose server sends keyspace notifications. */
export interface NotifiedClient extends Caller {
  readonly options: {
    readonly keyPrefix?: string | Buffer | undefined;
    readonly db?: number | undefined;
  };
  [SUMMARY](): ClientSummary;
}

export function openKeyspaceEvents(
  client: NotifiedClient,
  source: MessageSource,
  options: KeyspaceEventsOptions | undefined,
): KeyspaceEvents {
  const settings = async (): Promise<readonly NotifySetting[]> => [
    { server: String(client[SUMMARY]()["server"]), flags: await readFlags(client) },
  ];
  const { keyPrefix = "", db = 0 } = client.options;
  return openReader({ ...source, keyPrefix: String(keyPrefix), db, settings }, options);
}

/** The setting of a server; null if it cannot be read (no permission, or subscriber mode). */
export async function readFlags(client: Caller): Promise<string | null> {
  try {
    const reply = (await client[EXECUTE](specOf("config"), ["GET", SETTING], false)) as
      | readonly unknown[]
      | Readonly<Record<string, unknown>>;
    const flags = Array.isArray(reply)
      ? (reply as readonly unknown[])[1]
      : (reply as Readonly<Record<string, unknown>>)[SETTING];
    return typeof flags === "string" ? flags : null;
  } catch {
    return null;
  }
}
