/**
 * The confirmed subscriptions, by kind. They outlive connections, so that they can be restored. Names are kept
 * byte for byte (their latin1 text is the key).
 */

import { clockMs } from "../util/scheduling";

/** The values are the names in options. */
export const SubscriptionKind = { Channel: "channel", Pattern: "pattern", Shard: "shard" } as const;
export type SubscriptionKind = (typeof SubscriptionKind)[keyof typeof SubscriptionKind];

/** The commands that subscribe and unsubscribe, by kind. */
export const SUBSCRIBING = {
  [SubscriptionKind.Channel]: { enter: "subscribe", leave: "unsubscribe" },
  [SubscriptionKind.Pattern]: { enter: "psubscribe", leave: "punsubscribe" },
  [SubscriptionKind.Shard]: { enter: "ssubscribe", leave: "sunsubscribe" },
} as const;

/** The change to the subscriptions by one command, or by the confirmation of the server. */
export interface SubscriptionChange {
  readonly kind: SubscriptionKind;
  readonly isEntry: boolean;
}

/** The changes by command name, in lower case. */
export const SUBSCRIPTION_CHANGES: ReadonlyMap<string, SubscriptionChange> = new Map(
  Object.values(SubscriptionKind).flatMap((kind): [string, SubscriptionChange][] => [
    [SUBSCRIBING[kind].enter, { kind, isEntry: true }],
    [SUBSCRIBING[kind].leave, { kind, isEntry: false }],
  ]),
);

export class Subscriptions {
  /** A field, because it is read for each reply. */
  isEmpty = true;
  private sets: { [Kind in SubscriptionKind]?: Set<string> } = {};

  constructor(
    /** Called after each change. */
    private readonly onChange: (() => void) | null = null,
  ) {}

  /** The number of subscriptions of all kinds. */
  get count(): number {
    return Object.values(this.sets).reduce((sum, set) => sum + set.size, 0);
  }

  size(kind: SubscriptionKind): number {
    return this.sets[kind]?.size ?? 0;
  }

  has(kind: SubscriptionKind, name: Buffer): boolean {
    return this.sets[kind]?.has(name.toString("latin1")) === true;
  }

  add(kind: SubscriptionKind, name: Buffer): void {
    (this.sets[kind] ??= new Set()).add(name.toString("latin1"));
    this.noteChange();
  }

  delete(kind: SubscriptionKind, name: Buffer): void {
    this.sets[kind]?.delete(name.toString("latin1"));
    this.noteChange();
  }

  names(kind: SubscriptionKind): Buffer[] {
    return Array.from(this.sets[kind] ?? [], (name) => Buffer.from(name, "latin1"));
  }

  /** The same names; later changes of either set do not affect the other one. */
  copy(): Subscriptions {
    const copy = new Subscriptions();
    for (const kind of Object.values(SubscriptionKind)) copy.sets[kind] = new Set(this.sets[kind]);
    copy.isEmpty = this.isEmpty;
    return copy;
  }

  clear(): void {
    this.sets = {};
    this.noteChange();
  }

  private noteChange(): void {
    this.isEmpty = this.count === 0;
    this.onChange?.();
  }
}

/** Subscriptions that had no connection: messages of that period are lost. */
export interface SubscriptionGap {
  readonly channels: string[];
  readonly patterns: string[];
  readonly shardChannels: string[];
  readonly lastedMs: number;
}

export function gapOf(subscriptions: Subscriptions, sinceMs: number): SubscriptionGap {
  const textOf = (kind: SubscriptionKind): string[] => subscriptions.names(kind).map(String);
  return {
    channels: textOf(SubscriptionKind.Channel),
    patterns: textOf(SubscriptionKind.Pattern),
    shardChannels: textOf(SubscriptionKind.Shard),
    lastedMs: Math.round(clockMs() - sinceMs),
  };
}
