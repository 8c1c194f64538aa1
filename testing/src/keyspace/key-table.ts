/**
 * The keys of one database. A snapshot freezes the current table; later writes go into a new layer above it,
 * and restoring drops that layer. Both take the same time for one key as for a million.
 */

import type { Entry } from "./entry";

interface Layer {
  /** Null stands for a key that a layer below has and this one has not. */
  readonly entries: Map<string, Entry | null>;
  /** True if nothing below shows through. */
  readonly isWhole: boolean;
  /** Keys of the table when the next layer was put on top. */
  size: number;
  /** Of the snapshot that was taken before this layer; 0 for the lowest. */
  readonly id: number;
}

/** A key is looked up in at most so many layers: one layer more, and the table is copied into a whole one. */
const MAX_DEPTH = 16;

export class KeyTable {
  private top: Layer = { entries: new Map(), isWhole: true, size: 0, id: 0 };
  private readonly layers: Layer[] = [this.top];

  get size(): number {
    return this.top.size;
  }

  get(key: string): Entry | undefined {
    const entry = this.top.entries.get(key);
    if (entry !== undefined) return entry ?? undefined;
    return this.top.isWhole ? undefined : this.below(key);
  }

  set(key: string, entry: Entry): void {
    if (this.get(key) === undefined) this.top.size++;
    this.top.entries.set(key, entry);
  }

  delete(key: string): void {
    const { top } = this;
    if (this.get(key) === undefined) return;
    top.size--;
    if (!top.isWhole && this.below(key) !== undefined) top.entries.set(key, null);
    else top.entries.delete(key);
  }

  *[Symbol.iterator](): Generator<[string, Entry]> {
    const { layers } = this;
    let first = layers.length - 1;
    while (!(layers[first] as Layer).isWhole) first--;
    for (let index = first; index < layers.length; index++) {
      for (const [key, entry] of (layers[index] as Layer).entries) {
        if (entry !== null && !this.isCovered(key, index)) yield [key, entry];
      }
    }
  }

  /** Drops all keys, or puts others in their place. */
  replace(entries: Map<string, Entry> = new Map()): void {
    const { id } = this.top;
    this.layers.pop();
    this.push({ entries, isWhole: true, size: entries.size, id });
  }

  /** Freezes the current keys. */
  snapshot(id: number): void {
    const depth = this.layers.length - this.layers.findLastIndex(({ isWhole }) => isWhole);
    const isWhole = depth >= MAX_DEPTH;
    const entries = isWhole ? new Map(this) : new Map<string, Entry>();
    this.push({ entries, isWhole, size: this.size, id });
  }

  /** Back to where `snapshot` was given this number. False if there is no such snapshot. */
  restore(id: number): boolean {
    const index = this.layers.findIndex((layer) => layer.id === id);
    if (index < 1) return false;
    this.layers.length = index;
    this.top = this.layers[index - 1] as Layer;
    this.snapshot(id);
    return true;
  }

  private push(layer: Layer): void {
    this.layers.push(layer);
    this.top = layer;
  }

  private below(key: string): Entry | undefined {
    for (let index = this.layers.length - 2; index >= 0; index--) {
      const { entries, isWhole } = this.layers[index] as Layer;
      const entry = entries.get(key);
      if (entry !== undefined) return entry ?? undefined;
      if (isWhole) return undefined;
    }
    return undefined;
  }

  /** True if a layer above says something else of the key. */
  private isCovered(key: string, below: number): boolean {
    for (let index = below + 1; index < this.layers.length; index++) {
      if ((this.layers[index] as Layer).entries.has(key)) return true;
    }
    return false;
  }
}
