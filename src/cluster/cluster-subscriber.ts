/**
 * The connection for SUBSCRIBE and PSUBSCRIBE: one of its own, to any node, since a cluster hands
 * classic messages to all of them. When it is lost, or its node leaves, another node is chosen
 * and everything is subscribed again; its owner hears that messages may have been missed.
 *
 * A command is on the connection or waits; while the cluster is open and something waits, the
 * timer that opens the next connection runs.
 */

import type { Command } from "../command/command";
import type { Dispatcher } from "../command/dispatcher";
import { SubscriptionKind, Subscriptions } from "../connection/subscriptions";
import type { Link } from "../link/link";
import { NoSubscriberError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";

export interface SubscriberPort extends Dispatcher {
  readonly link: Link;
}

/** Hears what happens to a connection that it opened. */
export interface SubscriberWatcher {
  onReady(): void;
  onEnded(): void;
  /** Commands that were not answered. */
  onOrphans(commands: readonly Command[]): void;
  onReplyError(command: Command, error: Error): boolean;
  onShardLost(channel: Buffer): void;
}

export interface SubscriberOwner {
  open(node: ClusterNode, watcher: SubscriberWatcher): SubscriberPort;
  /** A node to subscribe at; not the given one, if there is another. */
  choose(instead: ClusterNode | null): ClusterNode | null;
  /** A command that asks for a shard channel of another node. */
  onMisplaced(command: Command, error: Error, node: ClusterNode): boolean;
  /** All is subscribed again after a gap in which messages may have been missed. */
  onGap(gap: SubscriptionGap): void;
}

export interface SubscriptionGap {
  readonly channels: string[];
  readonly patterns: string[];
  readonly shardChannels: string[];
  readonly lastedMs: number;
}

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2000;
const MAX_DOUBLINGS = 10;

/** Pause before the next try, with a quarter of jitter either way. */
export function subscriberDelayMs(failures: number): number {
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures, MAX_DOUBLINGS), LONGEST_DELAY_MS);
  return delayMs * (0.75 + Math.random() * 0.5);
}

/** Copies all names of one set of subscriptions to another. */
export function copySubscriptions(from: Subscriptions, to: Subscriptions): void {
  for (const kind of Object.values(SubscriptionKind)) {
    for (const name of from.names(kind)) to.add(kind, name);
  }
}

export function gapOf(subscriptions: Subscriptions, sinceMs: number): SubscriptionGap {
  const textOf = (kind: SubscriptionKind): string[] => subscriptions.names(kind).map(String);
  return {
    channels: textOf(SubscriptionKind.Channel),
    patterns: textOf(SubscriptionKind.Pattern),
    shardChannels: textOf(SubscriptionKind.Shard),
    lastedMs: Math.round(performance.now() - sinceMs),
  };
}

export class ClusterSubscriber implements Dispatcher {
  private port: SubscriberPort | null = null;
  private node: ClusterNode | null = null;
  /** What was subscribed on the connection before. */
  private wanted = new Subscriptions();
  /** Commands that wait for the next connection. */
  private waiting: Command[] = [];
  private timer: NodeJS.Timeout | undefined;
  private failures = 0;
  private lostAtMs: number | null = null;
  private isActive = false;

  constructor(private readonly owner: SubscriberOwner) {}

  dispatch(command: Command): void {
    if (!this.isActive) command.fail(new NoSubscriberError());
    else if (this.timer !== undefined) this.waiting.push(command);
    else if (this.port !== null || this.open()) this.port?.dispatch(command);
    else command.fail(new NoSubscriberError());
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }

  /** The cluster is ready. */
  start(): void {
    this.isActive = true;
    if (this.port === null && (!this.wanted.isEmpty || this.waiting.length > 0)) this.resume();
  }

  /** The cluster has lost its nodes or is closing. What was subscribed is remembered. */
  stop(isForGood: boolean): void {
    this.isActive = false;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.drop();
    if (!isForGood) return;
    const { waiting } = this;
    this.waiting = [];
    for (const command of waiting) command.fail(new NoSubscriberError());
  }

  /** A node is no longer part of the cluster. */
  onNodeGone(node: ClusterNode): void {
    if (node !== this.node || this.port === null) return;
    const { connection } = this.port.link;
    this.drop();
    // What was under way there has to go on elsewhere; nobody answers it here.
    connection?.destroy();
    this.resume();
  }

  get link(): Link | null {
    return this.port?.link ?? null;
  }

  private open(): boolean {
    const node = this.owner.choose(this.node);
    if (node === null) return false;
    let port: SubscriberPort | null = null;
    const watcher: SubscriberWatcher = {
      onReady: () => this.onReady(),
      onEnded: () => this.onEnded(port),
      onOrphans: (commands) => this.onOrphans(commands),
      onReplyError: (command, error) => this.owner.onMisplaced(command, error, node),
      onShardLost: () => {},
    };
    port = this.owner.open(node, watcher);
    this.node = node;
    this.port = port;
    copySubscriptions(this.wanted, port.link.subscriptions);
    return true;
  }

  private onReady(): void {
    this.failures = 0;
    if (this.lostAtMs === null) return;
    if (!this.wanted.isEmpty) this.owner.onGap(gapOf(this.wanted, this.lostAtMs));
    this.lostAtMs = null;
  }

  /** Forgets the connection, but not what it was subscribed to. */
  private drop(): void {
    const { port } = this;
    if (port === null) return;
    this.port = null;
    this.remember(port.link);
    port.link.disconnect();
  }

  private onEnded(port: SubscriberPort | null): void {
    if (port === null || port !== this.port) return;
    this.port = null;
    this.remember(port.link);
    if (this.isActive) this.resume();
  }

  private remember(link: Link): void {
    this.wanted = new Subscriptions();
    if (link.options.autoResubscribe !== false) copySubscriptions(link.subscriptions, this.wanted);
    this.lostAtMs ??= performance.now();
  }

  private onOrphans(commands: readonly Command[]): void {
    for (const command of commands) this.waiting.push(command);
    if (this.isActive && this.timer === undefined) this.resume();
  }

  /** Subscribes at another node: at once, later if that has failed before. */
  private resume(): void {
    if (this.wanted.isEmpty && this.waiting.length === 0) return;
    const delayMs = this.failures === 0 ? 0 : subscriberDelayMs(this.failures - 1);
    this.failures++;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (!this.isActive) return;
      if (this.port !== null || this.open()) this.connect();
      else this.resume();
    }, delayMs);
  }

  private connect(): void {
    const { port, waiting } = this;
    if (port === null) return;
    this.waiting = [];
    port.link.connect().catch(() => {});
    for (const command of waiting) if (!command.isSettled) port.dispatch(command);
  }
}
