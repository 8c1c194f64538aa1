/**
 * A stream: entries in order of their ids, and consumer groups. An id is one number, its
 * milliseconds times 2^64 plus its sequence, so that ids compare as numbers do.
 */

export type StreamId = bigint;

const SHIFT = 64n;
export const MAX_PART = 2n ** 64n - 1n;
export const MAX_ID: StreamId = (MAX_PART << SHIFT) | MAX_PART;

export function makeId(milliseconds: bigint, sequence: bigint): StreamId {
  return (milliseconds << SHIFT) | sequence;
}

export function millisecondsOf(id: StreamId): bigint {
  return id >> SHIFT;
}

export function sequenceOf(id: StreamId): bigint {
  return id & MAX_PART;
}

export function idText(id: StreamId): string {
  return `${millisecondsOf(id)}-${sequenceOf(id)}`;
}

export interface StreamEntry {
  readonly id: StreamId;
  /** Names and values in turn. */
  readonly fields: readonly string[];
}

export interface PendingEntry {
  readonly id: StreamId;
  readonly consumer: string;
  readonly deliveredAt: number;
  readonly deliveries: number;
}

export interface Consumer {
  readonly name: string;
  /** When it last asked, and when it last got something; -1 for never. */
  seenAt: number;
  activeAt: number;
}

export class ConsumerGroup {
  readonly consumers = new Map<string, Consumer>();
  readonly pending = new Map<StreamId, PendingEntry>();

  constructor(
    readonly name: string,
    public lastId: StreamId,
    /** How many entries it has read; null if that is not known. */
    public entriesRead: number | null,
  ) {}

  clone(): ConsumerGroup {
    const copy = new ConsumerGroup(this.name, this.lastId, this.entriesRead);
    for (const [name, consumer] of this.consumers) copy.consumers.set(name, { ...consumer });
    for (const [id, entry] of this.pending) copy.pending.set(id, entry);
    return copy;
  }

  /** The entries delivered and not acknowledged, by id. */
  pendingInOrder(): PendingEntry[] {
    return [...this.pending.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }
}

export class StreamValue {
  readonly type = "stream";
  entries: StreamEntry[] = [];
  groups = new Map<string, ConsumerGroup>();
  lastId: StreamId = 0n;
  /** The highest id that was deleted, and how many entries there ever were. */
  maxDeletedId: StreamId = 0n;
  entriesAdded = 0;

  /** A stream without entries is a key all the same. */
  get size(): number {
    return this.entries.length;
  }

  clone(): StreamValue {
    const copy = new StreamValue();
    copy.entries = [...this.entries];
    copy.lastId = this.lastId;
    copy.maxDeletedId = this.maxDeletedId;
    copy.entriesAdded = this.entriesAdded;
    for (const [name, group] of this.groups) copy.groups.set(name, group.clone());
    return copy;
  }

  /** Index of the first entry that is not before the id. */
  indexOf(id: StreamId): number {
    let low = 0;
    let high = this.entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.entries[middle] as StreamEntry).id < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  find(id: StreamId): StreamEntry | undefined {
    const entry = this.entries[this.indexOf(id)];
    return entry?.id === id ? entry : undefined;
  }

  range(start: StreamId, end: StreamId): StreamEntry[] {
    return start > end ? [] : this.entries.slice(this.indexOf(start), this.indexOf(end + 1n));
  }

  /** Removes the first entries; how many there were. */
  removeFirst(count: number): number {
    return this.entries.splice(0, count).length;
  }

  delete(id: StreamId): boolean {
    const index = this.indexOf(id);
    if (this.entries[index]?.id !== id) return false;
    this.entries.splice(index, 1);
    if (id > this.maxDeletedId) this.maxDeletedId = id;
    return true;
  }
}
