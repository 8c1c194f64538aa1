/**
 * The state that all simulated servers of a schedule share: what is stored, who waits for it, who listens, and
 * the books of what has happened. All nodes of a cluster have the same data, since only who answers
 * for a slot matters.
 */

import type { VirtualTime } from "./virtual-time";

/** A message that a server has taken. */
export interface Published {
  readonly channel: string;
  readonly message: string;
  readonly atMs: number;
}

/** A connection that can be told something. */
export interface Listener {
  hear(kind: "message" | "smessage", channel: string, message: string): void;
  /** A key has changed; null: all have. */
  hearChange(key: string | null): void;
  readonly channels: ReadonlySet<string>;
  readonly shardChannels: ReadonlySet<string>;
}

/** A text of a key from some moment on; null: the key is missing. */
export interface Version {
  readonly atMs: number;
  readonly text: string | null;
}

/** A connection that waits for an element. */
export interface Waiter {
  readonly key: string;
  take(element: string): void;
}

export class World {
  readonly texts = new Map<string, string>();
  readonly lists = new Map<string, string[]>();
  readonly waiters = new Set<Waiter>();
  readonly listeners = new Set<Listener>();
  readonly published: Published[] = [];
  /** Elements that servers have handed out. */
  readonly popped: string[] = [];
  /** All texts that keys have had, in their order. */
  readonly versions = new Map<string, Version[]>();

  constructor(readonly time: VirtualTime) {}

  /** Changes the text of a key, and tells who listens. */
  write(key: string, text: string | null): void {
    if (text === null && !this.texts.has(key)) return;
    if (text === null) this.texts.delete(key);
    else this.texts.set(key, text);
    this.note(key, text);
    for (const listener of [...this.listeners]) listener.hearChange(key);
  }

  /** Forgets all texts. */
  flush(): void {
    for (const key of this.texts.keys()) this.note(key, null);
    this.texts.clear();
    for (const listener of [...this.listeners]) listener.hearChange(null);
  }

  private note(key: string, text: string | null): void {
    const version = { atMs: this.time.nowMs, text };
    const versions = this.versions.get(key);
    if (versions === undefined) this.versions.set(key, [version]);
    else versions.push(version);
  }

  push(key: string, element: string): number {
    const list = this.lists.get(key) ?? [];
    this.lists.set(key, list);
    const length = list.push(element);
    for (const waiter of this.waiters) {
      if (waiter.key !== key) continue;
      const next = this.pop(key);
      if (next === null) break;
      this.waiters.delete(waiter);
      waiter.take(next);
    }
    return length;
  }

  pop(key: string): string | null {
    const element = this.lists.get(key)?.shift() ?? null;
    if (element !== null) this.popped.push(element);
    return element;
  }

  publish(kind: "message" | "smessage", channel: string, message: string): number {
    this.published.push({ channel, message, atMs: this.time.nowMs });
    let count = 0;
    for (const listener of [...this.listeners]) {
      const names = kind === "message" ? listener.channels : listener.shardChannels;
      if (!names.has(channel)) continue;
      count++;
      listener.hear(kind, channel, message);
    }
    return count;
  }
}
