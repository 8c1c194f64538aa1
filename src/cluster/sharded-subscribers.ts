/**
 * Connections for SSUBSCRIBE: one to each master that has channels. A shard channel lives on the
 * node that serves its slot, so subscriptions follow their slots: whatever is wanted is held
 * against what is subscribed where, and what has lost its node is subscribed at the next owner.
 *
 *   wanted = subscribed on the line of its slot's owner | homeless, until a line takes it
 *
 * A command is on a line or waits; a line that ends hands over what it has, and whenever
 * something waits a round of `settle` is due, until the client is closed and ends the rest.
 */

import { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { specOf } from "../command/command-table";
import type { Completion } from "../command/completion";
import type { Dispatcher } from "../command/dispatcher";
import { commonSlotOf, MIXED_SLOTS, NO_SLOT, slotOfKey } from "../command/slot";
import { SubscriptionKind, Subscriptions } from "../connection/subscriptions";
import { NoSubscriberError, TooManyRedirectionsError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import {
  gapOf,
  type SubscriberPort,
  type SubscriberWatcher,
  type SubscriptionGap,
  subscriberDelayMs,
} from "./cluster-subscriber";
import type { NodeAddress } from "./node-address";
import { parseRedirect, RedirectKind } from "./redirect";
import type { SlotMap } from "./slot-map";

export interface ShardedOwner {
  open(node: ClusterNode, watcher: SubscriberWatcher): SubscriberPort;
  /** The slot map is out of date. */
  onStale(): void;
  /** A slot has a new master, as a node has said. */
  onMoved(slot: number, target: NodeAddress): void;
  onLineOpened(node: ClusterNode): void;
  onLineClosed(node: ClusterNode): void;
  /** All that is wanted is subscribed. */
  onSettled(): void;
  onGap(gap: SubscriptionGap): void;
}

const SHARD = SubscriptionKind.Shard;

class Line implements SubscriberWatcher {
  readonly port: SubscriberPort;
  isEnded = false;

  constructor(
    readonly node: ClusterNode,
    private readonly home: ShardedSubscribers,
    open: (node: ClusterNode, watcher: SubscriberWatcher) => SubscriberPort,
  ) {
    this.port = open(node, this);
  }

  onReady(): void {
    this.home.onLineReady(this);
  }

  onEnded(): void {
    this.isEnded = true;
    this.home.onLineEnded(this);
  }

  onOrphans(commands: readonly Command[]): void {
    this.home.onOrphans(commands);
  }

  onReplyError(command: Command, error: Error): boolean {
    return this.home.onReplyError(this, command, error);
  }

  onShardLost(channel: Buffer): void {
    this.home.onShardLost(channel);
  }
}

export class ShardedSubscribers implements Dispatcher {
  private readonly lines = new Map<string, Line>();
  /** Wanted and subscribed nowhere. */
  private readonly homeless = new Subscriptions();
  /** What was homeless since the last gap was told; a gap is over when nothing is homeless. */
  private readonly missed = new Subscriptions();
  private missedSinceMs: number | null = null;
  /** Rounds of subscribing again that are not answered. */
  private rounds = 0;
  /** Commands whose line was lost. */
  private waiting: Command[] = [];
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;
  private isActive = false;

  constructor(
    private readonly slots: SlotMap,
    private readonly maxRedirections: number,
    private readonly owner: ShardedOwner,
  ) {}

  dispatch(command: Command): void {
    if (!this.isActive) command.fail(new NoSubscriberError());
    else if (command.args.length === 0) this.leaveAll(command);
    else this.send(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    for (const command of commands) this.dispatch(command);
  }

  /** The cluster is ready. */
  start(): void {
    this.isActive = true;
    this.settle();
  }

  /** The cluster has lost its nodes or is closing. What is wanted is remembered. */
  stop(isForGood: boolean): void {
    this.isActive = false;
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const line of [...this.lines.values()]) this.drop(line);
    if (!isForGood) return;
    const { waiting } = this;
    this.waiting = [];
    for (const command of waiting) command.fail(new NoSubscriberError());
  }

  /** Connects before there is anything to subscribe. */
  openTo(nodes: Iterable<ClusterNode>): void {
    if (this.isActive) for (const node of nodes) this.lineTo(node);
  }

  /** The slot map is new: subscriptions move to where their slots are. */
  onTopology(): void {
    if (!this.isActive) return;
    for (const line of [...this.lines.values()]) {
      const strays = line.port.link.subscriptions
        .names(SHARD)
        .filter((name) => this.ownerOf(name) !== line.node);
      for (const name of strays) this.evict(line, name);
      if (line.node.shard === null && line.port.link.subscriptions.isEmpty) this.drop(line);
    }
    this.settle();
  }

  // --- called by lines ---------------------------------------------------------------------

  onLineReady(line: Line): void {
    if (line.isEnded) return;
    this.failures = 0;
  }

  onLineEnded(line: Line): void {
    if (this.lines.get(line.node.key) !== line) return;
    this.forget(line);
    if (!this.isActive) return;
    this.owner.onStale();
    this.retry();
  }

  onOrphans(commands: readonly Command[]): void {
    for (const command of commands) {
      // Ending a subscription is over with its line; at the next owner it would end the new one.
      if (command.completion === UNHEARD) command.fail(new NoSubscriberError());
      else this.waiting.push(command);
    }
    if (this.isActive && this.waiting.length > 0) this.retry();
  }

  /** The server ended a subscription by itself: its slot has moved. */
  onShardLost(channel: Buffer): void {
    this.makeHomeless(channel);
    this.owner.onStale();
    this.retry();
  }

  onReplyError(line: Line, command: Command, error: Error): boolean {
    const redirect = parseRedirect(error.message, line.node.address);
    if (redirect === null || !this.isActive) return false;
    const extra = command.ensureExtra();
    extra.trail ??= { count: 0, nodes: [], next: null, avoided: null };
    extra.trail.nodes.push(line.node.key);
    if (extra.trail.count++ >= this.maxRedirections) {
      command.fail(new TooManyRedirectionsError(error, extra.trail.nodes));
      return true;
    }
    if (redirect.kind === RedirectKind.Moved && redirect.target !== null) {
      this.owner.onMoved(redirect.slot, redirect.target);
    }
    this.owner.onStale();
    if (this.ownerOf(command.args[0] as string | Buffer) !== line.node) this.send(command);
    else {
      this.waiting.push(command);
      this.retry();
    }
    return true;
  }

  // --- inside ------------------------------------------------------------------------------

  private send(command: Command): void {
    const slot = commonSlotOf(command.spec, command.args);
    if (slot === MIXED_SLOTS || slot === NO_SLOT) {
      command.fail(
        new NoSubscriberError("Possible CROSSSLOT error: All channels must hash to the same slot"),
      );
      return;
    }
    if ((command.spec.flags & CommandFlag.ExitSubscriber) !== 0) this.forsake(command.args);
    const node = this.slots.shardOf(slot)?.master;
    if (node === undefined) command.fail(new NoSubscriberError(`No sharded subscriber for slot: ${slot}`));
    else this.lineTo(node).port.dispatch(command);
  }

  private lineTo(node: ClusterNode): Line {
    const known = this.lines.get(node.key);
    if (known !== undefined) return known;
    const line = new Line(node, this, (at, watcher) => this.owner.open(at, watcher));
    this.lines.set(node.key, line);
    this.owner.onLineOpened(node);
    line.port.link.connect().catch(() => {});
    return line;
  }

  private ownerOf(channel: string | Buffer): ClusterNode | null {
    return this.slots.shardOf(slotOfKey(channel))?.master ?? null;
  }

  private drop(line: Line): void {
    this.forget(line);
    line.port.link.disconnect();
  }

  /** The line is over; what was subscribed on it has no home. */
  private forget(line: Line): void {
    this.lines.delete(line.node.key);
    for (const name of line.port.link.subscriptions.names(SHARD)) this.makeHomeless(name);
    this.owner.onLineClosed(line.node);
  }

  /** Ends a subscription at a node that no longer serves its slot; old messages cannot come from there. */
  private evict(line: Line, name: Buffer): void {
    line.port.link.subscriptions.delete(SHARD, name);
    line.port.dispatch(new Command(specOf("sunsubscribe"), [name], true, UNHEARD));
    this.makeHomeless(name);
  }

  /** No longer wanted, also where no line has them. */
  private forsake(names: readonly (string | Buffer)[]): void {
    if (this.missedSinceMs === null) return;
    for (const name of names) {
      this.homeless.delete(SHARD, Buffer.from(name as string));
      this.missed.delete(SHARD, Buffer.from(name as string));
    }
  }

  /** The channel is wanted and subscribed nowhere. */
  makeHomeless(name: Buffer): void {
    this.missedSinceMs ??= performance.now();
    this.homeless.add(SHARD, name);
    this.missed.add(SHARD, name);
  }

  /** Tries again after a pause: at once for the first time. */
  private retry(): void {
    if (this.timer !== undefined || !this.isActive) return;
    const delayMs = this.failures === 0 ? 0 : subscriberDelayMs(this.failures - 1);
    this.failures++;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.isActive) this.settle();
    }, delayMs);
  }

  /** Gives the homeless a home, and sends what waited. */
  private settle(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const command of waiting) if (!command.isSettled) this.send(command);
    const names = this.homeless.names(SHARD);
    if (names.length === 0) {
      this.endGap();
      return;
    }
    this.rounds++;
    const round = new Round(names.length, (isComplete) => {
      this.rounds--;
      if (!isComplete) this.retry();
      this.endGap();
    });
    for (const name of names) {
      this.homeless.delete(SHARD, name);
      this.send(new Command(specOf("ssubscribe"), [name], true, new Resubscription(round, name, this)));
    }
  }

  /** Tells that all that is wanted is subscribed, and what may have been missed until now. */
  private endGap(): void {
    if (this.rounds > 0 || !this.homeless.isEmpty) return;
    const sinceMs = this.missedSinceMs;
    const gap = gapOf(this.missed, sinceMs ?? 0);
    this.missedSinceMs = null;
    this.missed.clear();
    if (sinceMs !== null && gap.shardChannels.length > 0) this.owner.onGap(gap);
    this.owner.onSettled();
  }

  /** SUNSUBSCRIBE without channels ends all of them, wherever they are. */
  private leaveAll(command: Command): void {
    this.homeless.clear();
    this.missed.clear();
    const lines = [...this.lines.values()];
    const finish = (): void => command.fulfil(0, { protocol: 2, replyMapping: "legacy" });
    if (lines.length === 0) {
      finish();
      return;
    }
    const round = new Round(lines.length, finish);
    for (const { port } of lines) {
      port.dispatch(new Command(command.spec, [], true, new Resubscription(round, null, this)));
    }
  }
}

/** Counts the answers of commands that belong together. */
class Round {
  private isComplete = true;

  constructor(
    private left: number,
    private readonly onDone: (isComplete: boolean) => void,
  ) {}

  note(isGood: boolean): void {
    if (!isGood) this.isComplete = false;
    if (--this.left === 0) this.onDone(this.isComplete);
  }
}

class Resubscription implements Completion {
  readonly promise = null;

  constructor(
    private readonly round: Round,
    private readonly name: Buffer | null,
    private readonly home: ShardedSubscribers,
  ) {}

  fulfil(): void {
    this.round.note(true);
  }

  reject(): void {
    if (this.name !== null) this.home.makeHomeless(this.name);
    this.round.note(false);
  }
}

/** The answer does not matter. Not the completion that links drop. */
const UNHEARD: Completion = {
  promise: null,
  fulfil() {},
  reject() {},
};
