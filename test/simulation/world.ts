/**
 * What all simulated servers of a schedule share: what is stored, who waits for it, who listens, and
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
  readonly channels: ReadonlySet<string>;
  readonly shardChannels: ReadonlySet<string>;
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

  constructor(readonly time: VirtualTime) {}

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
