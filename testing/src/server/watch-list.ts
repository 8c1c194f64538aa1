/**
 * The keys that a connection watches (WATCH), and whether any of it was written since.
 */

import type { Database } from "../keyspace/database";

export class WatchList {
  isDirty = false;
  private readonly keys = new Map<Database, Set<string>>();

  add(database: Database, key: string): void {
    // A key that has expired is removed first: its end is no change.
    database.has(key);
    const keys = this.keys.get(database);
    if (keys === undefined) this.keys.set(database, new Set([key]));
    else keys.add(key);
  }

  mark(database: Database, key: string): void {
    if (this.keys.get(database)?.has(key)) this.isDirty = true;
  }

  /** Keys whose time is over are removed now, which marks them. */
  lookAgain(): void {
    for (const [database, keys] of this.keys) for (const key of keys) database.has(key);
  }

  /** Two databases exchange their keys: those that are in either of them count as written. */
  markSwapped(one: Database, other: Database): void {
    for (const database of [one, other]) {
      for (const key of this.keys.get(database) ?? [])
        if (one.has(key) || other.has(key)) this.isDirty = true;
    }
  }

  /** A database loses all its keys: those that are there count as written. */
  markFlushed(database: Database): void {
    for (const key of this.keys.get(database) ?? []) if (database.has(key)) this.isDirty = true;
  }
}
