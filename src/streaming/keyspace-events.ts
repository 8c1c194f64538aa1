/**
 * Readers of keyspace notifications: the entries of message readers with the key and the event of each. Events of keys
 * come from `__keyspace@db__:key`. If only events are named, they come from `__keyevent@db__:event`, so that the server
 * sends no others.
 */

import { checkSettings, type SettingChecks } from "../util/check-settings";
import { KeyspaceEventsOffError } from "./message-errors";
import {
  type EntryReader,
  type MessageGap,
  type MessageSource,
  type MessagesOptions,
  namesOf,
  namesOnly,
  openReader,
  type PublishedMessage,
  READER_CHECKS,
} from "./messages";

export interface KeyspaceEventsOptions
  extends Pick<MessagesOptions, "maxBuffered" | "onOverflow" | "signal"> {
  /** Patterns of keys, as for KEYS. `keyPrefix` applies. Default: all keys. */
  keys?: string | readonly string[] | undefined;
  /** Names of events (`set`, `expired`). Default: all events. */
  events?: string | readonly string[] | undefined;
  /** The database. Default: that of the option `db`. */
  db?: number | undefined;
}

export interface KeyspaceEvent {
  readonly kind: "event";
  /** Without `keyPrefix`. */
  readonly key: string;
  /** The event, for example `set`, `del` or `expired`. */
  readonly event: string;
  readonly db: number;
}

export type KeyspaceEntry = KeyspaceEvent | MessageGap;

/**
 * A reader of keyspace notifications.
 *
 * @example
 * await redis.config("SET", "notify-keyspace-events", "KEA");
 * const changes = redis.keyspaceEvents({ keys: "user:*" });
 * await changes.ready;
 * await redis.duplicate().set("user:1", "Ada");
 * for await (const entry of changes) {
 *   if (entry.kind === "event") break; // { key: "user:1", event: "set", db: 0 }
 * }
 */
export interface KeyspaceEvents extends EntryReader<KeyspaceEntry> {}

/** The setting `notify-keyspace-events` of one server. */
export interface NotifySetting {
  readonly server: string;
  /** Null if the server does not show it to the client. */
  readonly flags: string | null;
}

/** The client of the readers. */
export interface KeyspaceSource extends MessageSource {
  readonly keyPrefix: string;
  readonly db: number;
  /** The settings of all servers that have to send notifications. */
  settings(): Promise<readonly NotifySetting[]>;
}

/** The flag of each form. Every other flag enables a class of events. */
const FLAGS = { keyspace: "K", keyevent: "E" } as const;
const CLASS_FLAG = /[^KE]/;

const GLOB = /[*?[\]^\\-]/g;

const CALL = "keyspaceEvents()";
const CHECKS: SettingChecks<KeyspaceEventsOptions> = {
  keys: namesOnly,
  events: namesOnly,
  db: (value) => (Number.isInteger(value) && (value as number) >= 0 ? null : "the number of a database"),
  ...READER_CHECKS,
};

/** Opens a reader, and subscribes. */
export function openKeyspaceEvents(
  source: KeyspaceSource,
  options: KeyspaceEventsOptions = {},
): KeyspaceEvents {
  checkSettings(CALL, options, CHECKS);
  const { keys, events, db = source.db, ...shared } = options;
  const { keyPrefix } = source;
  const wanted = events === undefined ? null : namesOf(CALL, "events", events);
  const isByEvent = wanted !== null && keys === undefined && keyPrefix === "";
  const form = isByEvent ? "keyevent" : "keyspace";
  const beginning = `__${form}@${db}__:`;
  const patterns = namesOf(CALL, "keys", keys ?? "*").map(
    (pattern) => keyPrefix.replace(GLOB, "\\$&") + pattern,
  );
  const names = (isByEvent ? wanted : patterns).map((name) => beginning + name);
  return openReader(
    source,
    names,
    { ...shared, kind: isByEvent ? "channel" : "pattern" },
    {
      call: CALL,
      check: () => checkServers(source, FLAGS[form]),
      entryOf: ({ channel, message }: PublishedMessage<unknown>): KeyspaceEvent | null => {
        const name = channel.slice(beginning.length);
        const text = String(message);
        if (isByEvent) return { kind: "event", key: text, event: name, db };
        if (wanted?.includes(text) === false) return null;
        return { kind: "event", key: name.slice(keyPrefix.length), event: text, db };
      },
    },
  );
}

async function checkServers(source: KeyspaceSource, flag: string): Promise<void> {
  for (const { server, flags } of await source.settings()) {
    const isOn = flags === null || (flags.includes(flag) && CLASS_FLAG.test(flags));
    if (!isOn) throw new KeyspaceEventsOffError(server, flags, flag);
  }
}
