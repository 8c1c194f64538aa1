/**
 * One database: keys, values, expiry times. Writers request the value here, and report each modified key
 * afterwards, so that WATCH, blocked callers, notifications and client tracking learn of it in one place.
 *
 * Snapshots cost nothing when they are taken. Later writes go into a new layer (see KeyTable), and a container
 * is cloned before it is changed (its epoch is older than the database's); restoring drops the layer.
 */

import { ErrorReply } from "../protocol/reply";
import type { Clock } from "./clock";
import type { Entry, StringForm } from "./entry";
import { ExpiryQueue } from "./expiry-queue";
import { KeyTable } from "./key-table";
import type { Container, Value } from "./values";

export const WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value";
const EXPIRY_SLACK = 1_024;

export interface NewEntry {
  readonly expireAt?: number | "keep";
  readonly form?: StringForm;
}

/** Classes of keyspace notifications, as in `notify-keyspace-events`. */
export type EventClass = "g" | "$" | "l" | "s" | "h" | "z" | "x" | "e" | "t" | "d" | "m" | "n" | "o" | "c";

export interface DatabaseListener {
  /** A key was written, deleted or has expired. */
  onModified(database: Database, key: string): void;
  onEvent(database: Database, key: string, event: { readonly kind: EventClass; readonly name: string }): void;
  onFlush(database: Database): void;
  onSwap(one: Database, other: Database): void;
}

type ContainerClass<V extends Container> = new () => V;

export class Database {
  private readonly keys = new KeyTable();
  private readonly expiries = new ExpiryQueue();
  /** The newest snapshot at which all that is to expire, then and since, stood in the queue. */
  private expectedSince = 0;
  private epoch = 0;

  constructor(
    readonly index: number,
    private readonly clock: Clock,
    private readonly listener: DatabaseListener,
  ) {}

  get size(): number {
    return this.keys.size;
  }

  /** When the next key expires; Infinity if none does. */
  get nextExpiry(): number {
    return this.expiries.next;
  }

  get expiringCount(): number {
    let count = 0;
    for (const [, entry] of this.keys) if (entry.expireAt !== 0) count++;
    return count;
  }

  /** The entry of a key that has not expired. */
  find(key: string): Entry | undefined {
    const entry = this.keys.get(key);
    if (entry === undefined || entry.expireAt === 0 || entry.expireAt > this.clock.now) return entry;
    this.expire(key);
    return undefined;
  }

  has(key: string): boolean {
    return this.find(key) !== undefined;
  }

  /** The bytes of a string, undefined if there is none. Throws WRONGTYPE. */
  readString(key: string): string | undefined {
    const entry = this.find(key);
    if (entry === undefined) return undefined;
    if (typeof entry.value !== "string") throw new ErrorReply(WRONG_TYPE);
    entry.usedAt = this.clock.now;
    return entry.value;
  }

  /** A container to look at, not to alter. Throws WRONGTYPE. */
  read<V extends Container>(key: string, kind: ContainerClass<V>): V | undefined {
    const entry = this.find(key);
    if (entry === undefined) return undefined;
    if (!(entry.value instanceof kind)) throw new ErrorReply(WRONG_TYPE);
    entry.usedAt = this.clock.now;
    return entry.value;
  }

  /** A container to alter, undefined if there is none. Say `modified` or `removeIfEmpty` afterwards. */
  write<V extends Container>(key: string, kind: ContainerClass<V>): V | undefined {
    const value = this.read(key, kind);
    if (value === undefined) return undefined;
    return this.ownEntry(key, this.keys.get(key) as Entry).value as V;
  }

  /** As `write`; a new container if there is none. */
  writeOrCreate<V extends Container>(key: string, kind: ContainerClass<V>): V {
    const present = this.write(key, kind);
    if (present !== undefined) return present;
    const value = new kind();
    this.put(key, value, { expireAt: 0, form: "plain" });
    this.event(key, "n", "new");
    return value;
  }

  /** Writes a whole value; without a time of expiry it stays for ever. */
  set(key: string, value: Value, { expireAt = 0, form = "plain" }: NewEntry = {}): void {
    const old = this.find(key);
    this.put(key, value, { expireAt: expireAt === "keep" ? (old?.expireAt ?? 0) : expireAt, form });
    if (old === undefined) this.event(key, "n", "new");
  }

  setExpiry(key: string, expireAt: number): void {
    const entry = this.find(key);
    if (entry === undefined) return;
    this.ownEntry(key, entry).expireAt = expireAt;
    if (expireAt !== 0) this.expectExpiry(key, expireAt);
  }

  delete(key: string): boolean {
    if (this.find(key) === undefined) return false;
    this.keys.delete(key);
    return true;
  }

  /** Notifies everyone who watches the key, and publishes the notification. */
  modified(key: string, kind: EventClass, name: string): void {
    this.listener.onModified(this, key);
    this.listener.onEvent(this, key, { kind, name });
  }

  /** Only the notification. */
  event(key: string, kind: EventClass, name: string): void {
    this.listener.onEvent(this, key, { kind, name });
  }

  /** Only those who watch the key. */
  touched(key: string): void {
    this.listener.onModified(this, key);
  }

  /** An empty container is no key. */
  removeIfEmpty(key: string, value: { readonly size: number }): boolean {
    if (value.size > 0) return false;
    this.delete(key);
    this.event(key, "g", "del");
    return true;
  }

  /** Keys that have not expired. */
  *liveKeys(): Generator<string> {
    for (const [key, entry] of this.keys) {
      if (entry.expireAt === 0 || entry.expireAt > this.clock.now) yield key;
    }
  }

  flush(): void {
    if (this.keys.size > 0) this.listener.onFlush(this);
    this.keys.replace();
    this.forgetExpiries();
  }

  /** Exchanges the keys of two databases (SWAPDB). */
  swapWith(other: Database): void {
    const [mine, theirs] = [this.copyFor(other), other.copyFor(this)];
    this.keys.replace(theirs);
    other.keys.replace(mine);
    this.forgetExpiries();
    other.forgetExpiries();
    this.expectAll();
    other.expectAll();
    this.listener.onSwap(this, other);
  }

  /** Removes the expired keys. */
  expireDue(): void {
    while (this.expiries.next <= this.clock.now) {
      const due = this.expiries.take();
      this.expectedSince = this.epoch + 1;
      if (due !== undefined && this.keys.get(due.key)?.expireAt === due.at) this.expire(due.key);
    }
  }

  /** From here on every change can be undone with `restore` of the number returned. */
  snapshot(): number {
    this.epoch++;
    this.keys.snapshot(this.epoch);
    return this.epoch;
  }

  /** Back to where `snapshot` returned this number. False if an older one has been restored since. */
  restore(snapshot: number): boolean {
    if (!this.keys.restore(snapshot)) return false;
    if (snapshot < this.expectedSince) {
      this.expectAll();
      this.expectedSince = snapshot;
    }
    this.epoch++;
    return true;
  }

  private expire(key: string): void {
    this.keys.delete(key);
    this.modified(key, "x", "expired");
  }

  private put(key: string, value: Value, { expireAt, form }: { expireAt: number; form: StringForm }): void {
    this.keys.set(key, { value, expireAt, form, epoch: this.epoch, usedAt: this.clock.now });
    if (expireAt !== 0) this.expectExpiry(key, expireAt);
  }

  private ownEntry(key: string, entry: Entry): Entry {
    if (entry.epoch === this.epoch) return entry;
    const { value } = entry;
    const own: Entry = {
      value: typeof value === "string" ? value : value.clone(),
      expireAt: entry.expireAt,
      epoch: this.epoch,
      usedAt: entry.usedAt,
      form: entry.form,
    };
    this.keys.set(key, own);
    return own;
  }

  /** Entries for another database: its epochs are other ones, and writes there must not reach a snapshot here. */
  private copyFor({ epoch }: Database): Map<string, Entry> {
    const copy = new Map<string, Entry>();
    for (const [key, entry] of this.keys) {
      const value = typeof entry.value === "string" ? entry.value : entry.value.clone();
      copy.set(key, { ...entry, epoch, value });
    }
    return copy;
  }

  private forgetExpiries(): void {
    this.expiries.clear();
    this.expectedSince = this.epoch + 1;
  }

  private expectExpiry(key: string, at: number): void {
    if (this.expiries.size > 2 * this.keys.size + EXPIRY_SLACK) {
      this.expectedSince = this.epoch + 1;
      this.expiries.keepOnly((expiry) => this.keys.get(expiry.key)?.expireAt === expiry.at);
    }
    this.expiries.add(key, at);
  }

  private expectAll(): void {
    this.expiries.clear();
    for (const [key, entry] of this.keys) if (entry.expireAt !== 0) this.expiries.add(key, entry.expireAt);
  }
}
