/**
 * Sends every command to the node that serves its slot. A batch is split by node, not by slot,
 * and leaves with one call for each node; its MULTI ... EXEC groups stay together. Commands of a
 * slot whose gate is closed line up behind those that wait to be sent again.
 *
 * It decides where commands go first; what becomes of those that come back is the redirector's.
 */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { UNKNOWN_KEYS } from "../command/key-positions";
import { NO_SLOT, slotOf, UNROUTED } from "../command/slot";
import { copyError } from "../util/copy-error";
import { toError } from "../util/user-code";
import { OpenTransactionError } from "./cluster-errors";
import type { ClusterNode } from "./cluster-node";
import type { CommandGuide } from "./command-guide";
import { announce, type FanOut, type FanOutPart } from "./fan-out";
import type { NodePool } from "./node-pool";
import { isReplicaRead, type ReadPreference } from "./read-preference";
import { type RetryQueue, WaitReason } from "./retry-queue";
import type { Shard, SlotMap } from "./slot-map";
import { endOfGroup, groupOf, TransactionGroup } from "./transaction-group";
import type { WatchKeeper } from "./watch-keeper";

/** Takes commands while the cluster is not ready. */
export interface Gatekeeper {
  admit(commands: readonly Command[]): void;
  /** Commands that were admitted before; they are never refused. */
  keep(commands: readonly Command[]): void;
}

export interface RouterDeps {
  readonly slots: SlotMap;
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  readonly watches: WatchKeeper;
  readonly gatekeeper: Gatekeeper;
  /** Null: all reads go to masters. */
  readonly reads: ReadPreference | null;
  /** Commands that subscribe and unsubscribe. */
  readonly subscriber: Dispatcher;
  /** Sends some commands to several nodes; null while the option is off. */
  readonly fanOut: FanOut | null;
  /** Knows where the keys of commands are that the table does not have. */
  readonly guide: CommandGuide;
  /** Delay until a node that could not be reached is tried again. */
  readonly retryDelayMs: number;
  /** A slot has no owner: the map is not complete. */
  onUncovered(): void;
  /** A command waited for a node that is being redialled, and there is no other to ask: it counts as a try. */
  onUnreachable(node: ClusterNode, command: Command): void;
}

/** Commands that are not simply sent to the owner of their slot. */
const SPECIAL =
  CommandFlag.Multi |
  CommandFlag.Watch |
  CommandFlag.Unwatch |
  CommandFlag.EnterSubscriber |
  CommandFlag.ExitSubscriber |
  CommandFlag.Fieldsets;
const WATCHING = CommandFlag.Watch | CommandFlag.Unwatch;
const SUBSCRIBING = CommandFlag.EnterSubscriber | CommandFlag.ExitSubscriber;

export class ClusterRouter implements Dispatcher {
  isOpen = false;
  /** Nothing new is taken, but what was taken before goes on. */
  isDraining = false;
  /** The nodes that have a bucket in the batch that is being split. */
  private touched: ClusterNode[] = [];
  private isSplitting = false;
  /** Commands without keys of a batch without keys share a node. */
  private keylessNode: ClusterNode | null = null;
  /** Slot of the last command with keys of the batch that is being split, and the node it went to. */
  private nearestSlot = NO_SLOT;
  private nearestNode: ClusterNode | null = null;
  /** The batch that is being split, until a slot has been looked for in all of it. */
  private unsearched: readonly Command[] = [];
  /** Failing a command calls code of the user, which may come back here: not before all are placed. */
  private refused: { command: Command; error: Error }[] = [];

  constructor(private readonly deps: RouterDeps) {}

  dispatch(command: Command): void {
    if (!this.isOpen) this.deps.gatekeeper.admit([command]);
    else if ((command.spec.flags & SPECIAL) !== 0 || this.deps.fanOut !== null) this.dispatchSpecial(command);
    else {
      const node = this.nodeFor(command);
      if (node !== null) this.deps.pool.portOf(node).dispatch(command);
    }
  }

  dispatchBatch(commands: readonly Command[]): void {
    if (!this.isOpen) {
      this.deps.gatekeeper.admit(commands);
      return;
    }
    this.isSplitting = true;
    this.unsearched = commands;
    for (let index = 0; index < commands.length; index++) {
      const command = commands[index] as Command;
      if ((command.spec.flags & CommandFlag.Multi) === 0) {
        command.batch = null;
        this.place(command);
        continue;
      }
      const end = endOfGroup(commands, index);
      this.placeGroup(commands.slice(index, end));
      index = end - 1;
    }
    this.empty();
  }

  /** Commands that come back from nodes are sent at once. */
  get takesReturns(): boolean {
    return this.isOpen || this.isDraining;
  }

  /** Sends commands that have waited. A transaction is represented by its last command. */
  sendAgain(commands: readonly Command[]): void {
    if (!this.takesReturns) {
      this.deps.gatekeeper.keep(commands);
      return;
    }
    this.isSplitting = true;
    // All of a slot go to the node that the first of them goes to.
    const directed = new Map<number, ClusterNode>();
    const detoured = new Map<number, Command>();
    for (const command of commands) {
      const named = this.namedNode(command);
      const node = directed.get(command.slot) ?? named ?? this.detour(command);
      if (node === null) this.placeAgain(command);
      else {
        if (command.slot >= 0) directed.set(command.slot, node);
        const isElsewhere = command.slot >= 0 && this.deps.slots.shardOf(command.slot)?.master !== node;
        if (isElsewhere) detoured.set(command.slot, command);
        this.fillWith(command, node);
      }
    }
    this.empty();
    // Later commands of the slot may be sent elsewhere: not before these are answered or come back.
    for (const [slot, last] of detoured) if (!last.isSettled) this.deps.retries.keepOrder(slot, last);
  }

  /** Sends to a node, whoever serves the slot. */
  sendTo(node: ClusterNode, commands: readonly Command[]): void {
    const port = this.deps.pool.portOf(node);
    if (commands.length === 1) port.dispatch(commands[0] as Command);
    else port.dispatchBatch(commands);
  }

  // --- inside ------------------------------------------------------------------------------

  private dispatchSpecial(command: Command): void {
    const { flags } = command.spec;
    if ((flags & SUBSCRIBING) !== 0) this.deps.subscriber.dispatch(command);
    else if ((flags & CommandFlag.Multi) !== 0) command.fail(new OpenTransactionError());
    else if ((flags & CommandFlag.Fieldsets) !== 0) this.spread(command, announce(command, this.deps.slots));
    else if ((flags & WATCHING) !== 0) this.dispatchToOne(command);
    else this.spread(command, this.deps.fanOut?.plan(command) ?? null);
  }

  /** Sends the parts of a command, or the command itself when it has none. */
  private spread(command: Command, parts: FanOutPart[] | null): void {
    if (parts === null) {
      this.dispatchToOne(command);
      return;
    }
    this.isSplitting = true;
    for (const part of parts) this.placePart(part);
    this.empty();
  }

  private dispatchToOne(command: Command): void {
    const node = this.nodeFor(command);
    if (node === null) return;
    const port = this.deps.pool.portOf(node);
    if ((command.spec.flags & WATCHING) !== 0) this.deps.watches.note(command, port.link);
    port.dispatch(command);
  }

  /** Puts one command of a batch into the bucket of its node. */
  private place(command: Command): void {
    const special = command.spec.flags & SPECIAL;
    if ((special & SUBSCRIBING) !== 0) {
      this.deps.subscriber.dispatch(command);
      return;
    }
    const parts = this.deps.fanOut === null ? null : this.deps.fanOut.plan(command);
    if (parts !== null) {
      for (const part of parts) this.placePart(part);
      return;
    }
    const node = this.nodeFor(command);
    this.noteNearest(command.slot, node);
    if (node === null) return;
    if ((special & WATCHING) !== 0) this.deps.watches.note(command, this.deps.pool.portOf(node).link);
    this.bucketOf(node).push(command);
  }

  private placePart({ command, node }: FanOutPart): void {
    const target = node ?? this.nodeFor(command);
    this.noteNearest(command.slot, target);
    if (target !== null) this.bucketOf(target).push(command);
  }

  private placeGroup(commands: readonly Command[]): void {
    const group = groupOf(commands);
    if (!(group instanceof Error)) this.noteNearest(group.slot, null);
    if (group instanceof Error) for (const command of commands) this.refuse(command, group);
    else if (this.deps.retries.isClosed(group.slot)) this.deps.retries.lineUp(group.closing);
    else this.fill(group);
  }

  /** Puts a transaction into the bucket of its node. */
  private fill(group: TransactionGroup): void {
    group.isWaiting = false;
    if (group.isGivenUp) {
      group.discard();
      return;
    }
    if (this.deps.retries.isClosed(group.slot)) {
      this.deps.retries.lineUp(group.closing);
      return;
    }
    const node = this.masterFor(group.closing);
    if (node !== null) this.fillGroup(group, node);
  }

  private fillGroup(group: TransactionGroup, node: ClusterNode): void {
    const refusal = this.deps.watches.refusal(group.slot, this.deps.pool.portOf(node).link);
    if (refusal === null) for (const command of group.nextRun()) this.bucketOf(node).push(command);
    else for (const command of group.commands) this.refuse(command, refusal);
  }

  /** The node that a redirect named; whether it is right by now is for the node to say. */
  private namedNode(command: Command): ClusterNode | null {
    const trail = command.extra?.trail;
    if (trail === null || trail === undefined || trail.next === null) return null;
    const node = this.deps.pool.at(trail.next);
    trail.next = null;
    return node === null || node.isDown || this.deps.retries.isClosed(command.slot) ? null : node;
  }

  /** Another node than the owner of the slot, if that one has said CLUSTERDOWN or is being redialled. */
  private detour(command: Command): ClusterNode | null {
    const { pool, slots, retries } = this.deps;
    const master = command.slot < 0 ? undefined : slots.shardOf(command.slot)?.master;
    if (master === undefined || retries.isClosed(command.slot)) return null;
    const isAvoided = command.extra?.trail?.avoided === master.key;
    if (!isAvoided && !(master.isDown && master.isLost)) return null;
    return pool.otherMaster(master);
  }

  private fillWith(command: Command, node: ClusterNode): void {
    const group = command.batch instanceof TransactionGroup ? command.batch : null;
    if (group === null) this.bucketOf(node).push(command);
    else this.fillGroup(group, node);
  }

  private placeAgain(command: Command): void {
    const master = command.slot < 0 ? undefined : this.deps.slots.shardOf(command.slot)?.master;
    if (command.batch instanceof TransactionGroup) this.fill(command.batch);
    else if (master?.isDown && master.isLost) this.deps.onUnreachable(master, command);
    else this.place(command);
  }

  private bucketOf(node: ClusterNode): Command[] {
    if (node.bucket.length === 0) this.touched.push(node);
    return node.bucket;
  }

  private refuse(command: Command, error: Error): void {
    this.refused.push({ command, error: copyError(error) });
  }

  /** Hands all buckets on. */
  private empty(): void {
    const { touched, refused } = this;
    this.isSplitting = false;
    this.keylessNode = null;
    this.nearestSlot = NO_SLOT;
    this.nearestNode = null;
    this.unsearched = [];
    this.touched = [];
    for (const node of touched) {
      const { bucket } = node;
      node.bucket = [];
      this.deps.pool.portOf(node).dispatchBatch(bucket);
    }
    if (refused.length === 0) return;
    this.refused = [];
    for (const { command, error } of refused) command.fail(error);
  }

  /** Where the command goes now; null when it waits instead. */
  private nodeFor(command: Command): ClusterNode | null {
    const slot = this.slotOf(command);
    const { retries, slots, reads } = this.deps;
    if (retries.isClosed(slot)) {
      retries.lineUp(command);
      return null;
    }
    if (reads !== null && slot >= 0 && isReplicaRead(command)) {
      const shard = slots.shardOf(slot);
      if (shard !== null) {
        const node = this.chooseReader(reads, shard, command);
        if (node === null || !node.isDown) return node;
      }
    }
    return this.masterFor(command);
  }

  /** A choosing function of the application that throws fails its command and no other. */
  private chooseReader(reads: ReadPreference, shard: Shard, command: Command): ClusterNode | null {
    try {
      return reads.choose(shard, command);
    } catch (thrown) {
      const error = toError(thrown);
      if (this.isSplitting) this.refused.push({ command, error });
      else command.fail(error);
      return null;
    }
  }

  private masterFor(command: Command): ClusterNode | null {
    const { slot } = command;
    const shard = slot < 0 ? null : this.deps.slots.shardOf(slot);
    if (shard === null) return this.anyNode(command);
    const node = shard.master;
    return node.isDown ? this.wait(command) : node;
  }

  /** No keys, or a slot that nobody is known to serve: each node will do, or knows better. */
  private anyNode(command: Command): ClusterNode | null {
    const { pool, reads } = this.deps;
    if (command.slot !== NO_SLOT) this.deps.onUncovered();
    else if (this.isSplitting) {
      const node = this.keylessNode ?? this.nearKeys(command);
      if (node !== null) return node;
    }
    const role = reads !== null && isReplicaRead(command) ? reads.keyless : "master";
    const node = pool.sample(role);
    if (node === null || node.isDown) return this.wait(command);
    if (this.isSplitting && command.slot === NO_SLOT) this.keylessNode = node;
    return node;
  }

  private noteNearest(slot: number, node: ClusterNode | null): void {
    if (slot < 0) return;
    this.nearestSlot = slot;
    this.nearestNode = node;
  }

  /** Where the nearest command with keys of the batch goes; null when none has keys, or its node is down. */
  private nearKeys(command: Command): ClusterNode | null {
    if (this.nearestSlot < 0) {
      const first = this.unsearched.find((one) => this.slotOf(one) >= 0);
      this.unsearched = [];
      if (first === undefined) return null;
      this.nearestSlot = first.slot;
    }
    const { nearestNode, nearestSlot } = this;
    if (nearestNode?.role === "slave" && mayRunAtReplica(command)) return nearestNode;
    const master = this.deps.slots.shardOf(nearestSlot)?.master ?? null;
    const node = nearestNode === null || nearestNode.role === "slave" ? master : nearestNode;
    return node === null || node.isDown ? null : node;
  }

  /** The slot of a command, worked out when it is first asked for. */
  private slotOf(command: Command): number {
    if (command.slot !== UNROUTED) return command.slot;
    const slot = slotOf(command.spec, command.args);
    const isUnknown = slot === NO_SLOT && command.spec.keys === UNKNOWN_KEYS;
    command.slot = isUnknown ? this.deps.guide.slotOf(command) : slot;
    return command.slot;
  }

  private wait(command: Command): null {
    this.deps.retries.arrive(command, WaitReason.Failover, this.deps.retryDelayMs);
    return null;
  }
}

/** Scripts are loaded where they are run. */
function mayRunAtReplica(command: Command): boolean {
  return isReplicaRead(command) || command.spec.lowerName === "script";
}
