/**
 * A master and its replicas. They share their databases, so a replica sees each write of its master
 * immediately. All of them are notified of changed keys.
 */

import type { Clock } from "../keyspace/clock";
import { Database, type DatabaseListener, type EventClass } from "../keyspace/database";

const DATABASES = 16;

export class Shard implements DatabaseListener {
  readonly databases: readonly Database[];
  private readonly members: DatabaseListener[] = [];

  constructor(
    readonly id: string,
    clock: Clock,
  ) {
    this.databases = Array.from({ length: DATABASES }, (_, index) => new Database(index, clock, this));
  }

  join(member: DatabaseListener): void {
    this.members.push(member);
  }

  onModified(database: Database, key: string): void {
    for (const member of this.members) member.onModified(database, key);
  }

  onEvent(
    database: Database,
    key: string,
    event: { readonly kind: EventClass; readonly name: string },
  ): void {
    for (const member of this.members) member.onEvent(database, key, event);
  }

  onFlush(database: Database): void {
    for (const member of this.members) member.onFlush(database);
  }

  onSwap(one: Database, other: Database): void {
    for (const member of this.members) member.onSwap(one, other);
  }
}
