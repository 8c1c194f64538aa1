/**
 * Direct looks at a database of a test server: no command, no connection, no effect on the data.
 */

import type { Database } from "./keyspace/database";
import type { Entry } from "./keyspace/entry";
import { ListValue } from "./keyspace/list-value";
import { SortedSetValue } from "./keyspace/sorted-set-value";
import { HashValue, SetValue, typeOf, type ValueType } from "./keyspace/values";
import { toBytes, toText } from "./protocol/numbers";
import type { ServerEngine } from "./server/model";

/** A value as plain data: text, list, set as array, hash as object, sorted set as pairs. */
export type PlainValue = string | string[] | Record<string, string> | [string, number][];

/** Where the state is: one database, or one of each master of a cluster. */
export interface StateSource {
  readonly databases: readonly Database[];
  readonly now: number;
  /** The database that a key belongs to. */
  databaseOf(key: string): Database;
}

/** The state of one database of a server. */
export function stateOf(engine: ServerEngine, index: number): ServerState {
  const database = engine.database(index);
  return new ServerState({ databases: [database], now: engine.clock.now, databaseOf: () => database });
}

export class ServerState {
  constructor(private readonly source: StateSource) {}

  /** Number of keys. */
  get size(): number {
    return this.source.databases.reduce((sum, database) => sum + database.size, 0);
  }

  keys(): string[] {
    return this.source.databases.flatMap((database) => [...database.liveKeys()].map(toText)).sort();
  }

  has(key: string): boolean {
    return this.find(key) !== undefined;
  }

  type(key: string): ValueType | "none" {
    const value = this.find(key)?.value;
    return value === undefined ? "none" : typeOf(value);
  }

  /** The value as plain data; undefined if there is none. */
  get(key: string): PlainValue | undefined {
    const value = this.find(key)?.value;
    if (value === undefined) return undefined;
    if (typeof value === "string") return toText(value);
    if (value instanceof ListValue) return value.toArray().map(toText);
    if (value instanceof SetValue) return value.list().map(toText);
    if (value instanceof SortedSetValue)
      return value.members.map(({ member, score }): [string, number] => [toText(member), score]);
    if (value instanceof HashValue) {
      return Object.fromEntries([...value.fields].map(([field, text]) => [toText(field), toText(text)]));
    }
    return [];
  }

  /** The bytes of a string; undefined if there is none or it is no string. */
  getBuffer(key: string): Buffer | undefined {
    const value = this.find(key)?.value;
    return typeof value === "string" ? Buffer.from(value, "latin1") : undefined;
  }

  /** Milliseconds until the key expires; undefined if it does not, or is not there. */
  ttl(key: string): number | undefined {
    const entry = this.find(key);
    return entry === undefined || entry.expireAt === 0 ? undefined : entry.expireAt - this.source.now;
  }

  private find(key: string): Entry | undefined {
    const bytes = toBytes(key);
    return this.source.databaseOf(bytes).find(bytes);
  }
}
