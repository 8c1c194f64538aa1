/**
 * Which key expires next: a binary heap of times. Entries of keys that were deleted or got another
 * time stay until their own time has come; the owner of the queue looks whether they still hold.
 */

export interface Expiry {
  readonly at: number;
  readonly key: string;
}

export class ExpiryQueue {
  private heap: Expiry[] = [];

  get size(): number {
    return this.heap.length;
  }

  /** The earliest time, or Infinity. */
  get next(): number {
    return this.heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  add(key: string, at: number): void {
    const { heap } = this;
    let index = heap.length;
    const entry = { at, key };
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const other = heap[parent] as Expiry;
      if (other.at <= at) break;
      heap[index] = other;
      index = parent;
    }
    heap[index] = entry;
  }

  /** Takes the earliest entry. */
  take(): Expiry | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let index = 0;
    while (true) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      const right = heap[child + 1];
      if (right !== undefined && right.at < (heap[child] as Expiry).at) child++;
      const smaller = heap[child] as Expiry;
      if (smaller.at >= last.at) break;
      heap[index] = smaller;
      index = child;
    }
    heap[index] = last;
    return first;
  }

  clear(): void {
    this.heap = [];
  }

  /** Removes outdated entries. */
  keepOnly(holds: (expiry: Expiry) => boolean): void {
    this.heap = this.heap.filter(holds).sort((a, b) => a.at - b.at);
  }
}
