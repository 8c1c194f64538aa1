/**
 * The connection for SUBSCRIBE and PSUBSCRIBE: one of its own, to any node, since a cluster hands
 * classic messages to all of them. When it is lost, or its node leaves, another node is chosen
 * and everything that is wanted is subscribed there; the owner hears that messages may have been
 * missed once that is confirmed. What is wanted and what is confirmed are compared with every
 * event that may have changed one of them, and by a timer.
 *
 * A command is on the connection or waits; while the cluster is open and something waits, the
 * timer that opens the next connection runs.
 */

import type { Command } from "../command/command";
import type { Dispatcher } from "../command/dispatcher";
import { SubscriptionKind } from "../connection/subscriptions";
import { ReplyError } from "../errors";
import type { Link } from "../link/link";
import { clockMs, startInterval, startTimer, stopInterval, stopTimer } from "../util/scheduling";
import { NoSubscriberError, TooManyRedirectionsError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import {
  failForGood,
  isOwn,
  LOOK_MS,
  ownCommand,
  Resubscription,
  SHORT_LIFE_MS,
  type SubscriberClient,
  type SubscriberListener,
  subscriberDelayMs,
} from "./subscriber-connection";
import { type SubscriptionGap, WantedSubscriptions } from "./wanted-subscriptions";

export interface SubscriberDeps {
  open(node: ClusterNode, listener: SubscriberListener): SubscriberClient;
  /** A node to subscribe at; not the given one, if there is another. */
  choose(instead: ClusterNode | null): ClusterNode | null;
  /** A command that asks for a shard channel of another node. */
  onMisplaced(command: Command, error: Error, node: ClusterNode): boolean;
  /** The server will not have subscriptions that it had before; they are given up. */
  onRefused(error: Error, node: ClusterNode): void;
  /** All is subscribed again after a gap in which messages may have been missed. */
  onGap(gap: SubscriptionGap): void;
}

const QUESTIONS = [
  { kind: SubscriptionKind.Channel, enter: "subscribe", leave: "unsubscribe" },
  { kind: SubscriptionKind.Pattern, enter: "psubscribe", leave: "punsubscribe" },
  { kind: SubscriptionKind.Shard, enter: "ssubscribe", leave: "sunsubscribe" },
] as const;

export class ClusterSubscriber implements Dispatcher {
  private readonly wanted = new WantedSubscriptions(() => this.look());
  private client: SubscriberClient | null = null;
  private node: ClusterNode | null = null;
  private readyAtMs: number | null = null;
  /** Own commands on the present connection that are not answered. */
  private asked = 0;
  /** Commands that wait for the next connection. */
  private waiting: Command[] = [];
  private timer: NodeJS.Timeout | undefined;
  private ticker: NodeJS.Timeout | undefined;
  private failures = 0;
  private isActive = false;

  constructor(private readonly deps: SubscriberDeps) {}

  dispatch(command: Command): void {
    if (!this.isActive) {
      command.fail(new NoSubscriberError());
      return;
    }
    this.wanted.follow(command);
    if (this.timer !== undefined) this.waiting.push(command);
    else if (this.client !== null || this.open()) this.client?.dispatch(command);
    else command.fail(new NoSubscriberError());
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }

  /** The cluster is ready. */
  start(): void {
    this.isActive = true;
    this.ticker ??= startInterval(() => this.look(), LOOK_MS).unref();
    this.look();
  }

  /** The cluster has lost its nodes or is closing. What was subscribed is remembered. */
  stop(isForGood: boolean): void {
    this.isActive = false;
    stopTimer(this.timer);
    stopInterval(this.ticker);
    this.timer = undefined;
    this.ticker = undefined;
    this.drop();
    if (!isForGood) return;
    failForGood(this.waiting.splice(0));
  }

  /** A node is no longer part of the cluster. */
  onNodeGone(node: ClusterNode): void {
    if (node !== this.node || this.client === null) return;
    const { connection } = this.client.link;
    this.drop();
    // The commands under way there have to go on elsewhere; nobody answers them here.
    connection?.destroy();
    this.look();
  }

  get link(): Link | null {
    return this.client?.link ?? null;
  }

  private open(): boolean {
    const node = this.deps.choose(this.node);
    if (node === null) return false;
    let client: SubscriberClient | null = null;
    const isCurrent = (): boolean => client !== null && client === this.client;
    const listener: SubscriberListener = {
      get isCurrent() {
        return isCurrent();
      },
      onReady: () => this.onReady(client),
      onEnded: () => this.onEnded(client),
      onOrphans: (commands) => this.onOrphans(commands),
      onReplyError: (command, error) => this.deps.onMisplaced(command, error, node),
      onShardLost: (channel) => this.wanted.miss(SubscriptionKind.Shard, channel),
    };
    client = this.deps.open(node, listener);
    this.node = node;
    this.client = client;
    this.asked = 0;
    this.readyAtMs = null;
    return true;
  }

  private onReady(client: SubscriberClient | null): void {
    if (client === null || client !== this.client) return;
    this.readyAtMs = clockMs();
    this.look();
  }

  /** Forgets the connection, but not what is wanted. */
  private drop(): void {
    const { client } = this;
    if (client === null) return;
    this.client = null;
    this.forget(client.link);
    client.link.disconnect();
  }

  private onEnded(client: SubscriberClient | null): void {
    if (client === null || client !== this.client) return;
    this.client = null;
    this.forget(client.link);
    const hasLasted = this.readyAtMs !== null && clockMs() - this.readyAtMs >= SHORT_LIFE_MS;
    this.failures = hasLasted ? 0 : this.failures + 1;
    this.look();
  }

  private forget({ subscriptions, options }: Link): void {
    if (options.autoResubscribe === false) this.wanted.clear();
    for (const { kind } of QUESTIONS) {
      for (const name of subscriptions.names(kind)) this.wanted.miss(kind, name);
    }
  }

  private onOrphans(commands: readonly Command[]): void {
    for (const command of commands) {
      if (isOwn(command)) command.fail(new NoSubscriberError());
      else this.waiting.push(command);
    }
    this.look();
  }

  /** Compares what is wanted with what is confirmed, and makes up for the difference. */
  private look(): void {
    if (!this.isActive || this.timer !== undefined) return;
    const { client } = this;
    if (this.waiting.length > 0 || (client === null && !this.wanted.names.isEmpty)) this.resume();
    else if (client !== null && client.link.status === "ready" && this.asked === 0) this.reconcile(client);
  }

  private reconcile(client: SubscriberClient): void {
    const { subscriptions } = client.link;
    for (const { kind, enter, leave } of QUESTIONS) {
      const names = this.wanted.names.names(kind).filter((name) => !subscriptions.has(kind, name));
      for (const name of names) this.wanted.miss(kind, name);
      // Shard channels may live in different slots.
      const questions = kind === SubscriptionKind.Shard ? names.map((name) => [name]) : [names];
      for (const question of questions)
        if (question.length > 0) this.ask(client, enter, { kind, names: question });
      for (const name of subscriptions.names(kind)) {
        if (this.wanted.names.has(kind, name) || this.wanted.isAsked(kind, name)) continue;
        this.ask(client, leave, { kind, names: [name] });
      }
    }
    if (this.asked > 0) return;
    const gap = this.wanted.takeGap();
    if (gap !== null) this.deps.onGap(gap);
  }

  private ask(
    client: SubscriberClient,
    word: string,
    what: { kind: SubscriptionKind; names: Buffer[] },
  ): void {
    const { node } = this;
    this.asked++;
    const completion = new Resubscription((error) => {
      if (client !== this.client) return;
      this.asked--;
      const isRefused = error instanceof ReplyError || error instanceof TooManyRedirectionsError;
      if (isRefused) {
        this.wanted.refuse(what.kind, what.names);
        if (node !== null) this.deps.onRefused(error, node);
      }
      if (error === null || isRefused) this.look();
    });
    client.dispatch(ownCommand(word, what.names, completion));
  }

  /** Subscribes at another node: at once, later if that has failed before. */
  private resume(): void {
    const delayMs = subscriberDelayMs(this.failures);
    this.timer = startTimer(() => {
      this.timer = undefined;
      if (!this.isActive) return;
      if (this.client !== null || this.open()) this.connect();
      else {
        this.failures++;
        this.look();
      }
    }, delayMs);
  }

  private connect(): void {
    const { client, waiting } = this;
    if (client === null) return;
    this.waiting = [];
    client.link.connect().catch(() => {});
    for (const command of waiting) if (!command.isSettled) client.dispatch(command);
  }
}
