/**
 * Hashes as commands find them: fields whose time is over are gone.
 */

import type { Database } from "../keyspace/database";
import { HashValue } from "../keyspace/values";
import type { ServerEngine } from "../server/model";

/** The event of fields that were given a time that has passed. */
export function pastEvent({ version }: ServerEngine): string {
  return version.product === "valkey" ? "hexpired" : "hdel";
}

/** Removes fields whose time is over; an emptied hash is no key. */
export function liveHash(database: Database, key: string, now: number): HashValue | undefined {
  const hash = database.read(key, HashValue);
  if (hash === undefined || hash.expiries === null) return hash;
  let isDue = false;
  for (const time of hash.expiries.values()) if (time <= now) isDue = true;
  if (!isDue) return hash;
  const own = database.write(key, HashValue) as HashValue;
  for (const [field, time] of own.expiries ?? []) if (time <= now) own.delete(field);
  database.modified(key, "h", "hexpired");
  return database.removeIfEmpty(key, own) ? undefined : own;
}
