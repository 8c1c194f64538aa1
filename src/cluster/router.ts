/**
 * Sends every command to the node that serves its slot. A batch is split by node, not by slot,
 * and leaves with one call for each node; each MULTI ... EXEC stays together. Commands of a slot
 * that is held line up in the retry queue, which hands them back here when they may go (`sendAgain`).
 *
 * It decides where commands go; what becomes of those that come back is the redirector's.
 */

import { Batch, BatchKind, type BatchMerging } from "../command/batch";
import type { Command } from "../command/command";
import type { NamedNode } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { UNKNOWN_KEYS } from "../command/key-positions";
import { NO_SLOT, slotOf, UNROUTED } from "../command/slot";
import { copyError } from "../util/copy-error";
import { toError } from "../util/user-code";
import { askingFor } from "./asking";
import { OpenTransactionError } from "./cluster-errors";
import type { ClusterNode, Shard } from "./cluster-node";
import {
  type ClusterTransaction,
  endOfTransaction,
  makeTransaction,
  transactionOf,
} from "./cluster-transaction";
import { CommandGuide } from "./command-guide";
import { announce, crossSlotError, type FanOut, type FanOutPart, spansSlots } from "./fan-out";
import type { NodePool } from "./node-pool";
import { isReplicaRead, type ReadPreference } from "./read-preference";
import { type RetryQueue, WaitReason } from "./retry-queue";
import type { SlotMap } from "./slot-map";
import { WatchKeeper } from "./watch-keeper";

/** Takes commands while the cluster is not ready. */
export interface Gatekeeper {
  admit(commands: readonly Command[]): void;
}

export interface RouterDeps {
  readonly slots: SlotMap;
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  readonly gatekeeper: Gatekeeper;
  /** Null: all reads go to masters. */
  readonly reads: ReadPreference | null;
  /** Commands that subscribe and unsubscribe. */
  readonly subscriber: Dispatcher;
  /** Sends some commands to several nodes; null while the option is off. */
  readonly fanOut: FanOut | null;
  /** Delay until a node that could not be reached is tried again. */
  readonly retryDelayMs: number;
  /** A slot has no owner: the map is not complete. */
  onUncovered(): void;
  /** Commands of one slot waited for a node that is being redialled, and there is no other to ask. */
  onUnreachable(node: ClusterNode, commands: readonly Command[]): void;
}

/** Where the commands of a slot go that have waited. */
interface Place {
  readonly node: ClusterNode;
  /** Each goes behind an ASKING. */
  readonly isAsk: boolean;
  /** It is the owner of the slot, where new commands go as well. */
  readonly isOwner: boolean;
}

/** Commands that are not simply sent to the owner of their slot. */
const SPECIAL =
  CommandFlag.Multi |
  CommandFlag.Watch |
  CommandFlag.Unwatch |
  CommandFlag.EnterSubscriber |
  CommandFlag.ExitSubscriber |
  CommandFlag.Fieldsets |
  CommandFlag.OneSlot;
const WATCHING = CommandFlag.Watch | CommandFlag.Unwatch;
const SUBSCRIBING = CommandFlag.EnterSubscriber | CommandFlag.ExitSubscriber;

export class ClusterRouter implements Dispatcher {
  isOpen = false;
  /** Nothing new is taken, but what was taken before goes on. */
  isDraining = false;
  /** The nodes that have a bucket in the batch that is being split. */
  private touched: ClusterNode[] = [];
  private isSplitting = false;
  /** The nodes that the last batch was divided among. */
  lastNodes: readonly ClusterNode[] = [];
  /** Commands without keys of a batch without keys share a node. */
  private keylessNode: ClusterNode | null = null;
  /** Slot of the last command with keys of the batch that is being split, and the node it went to. */
  private nearestSlot = NO_SLOT;
  private nearestNode: ClusterNode | null = null;
  /** The batch that is being split, until a slot has been looked for in all of it. */
  private unsearched: readonly Command[] = [];
  /** Of the batch that is being split. */
  private merging: BatchMerging | null = null;
  /** Failing a command calls code of the user, which may come back here: not before all are placed. */
  private refused: { command: Command; error: Error }[] = [];

  /** Which slots are watched, and over which connection. */
  readonly watches = new WatchKeeper();
  /** Where the keys of commands are that the table does not have. */
  private readonly guide: CommandGuide;

  constructor(private readonly deps: RouterDeps) {
    this.guide = new CommandGuide(deps.pool);
  }

  dispatch(command: Command): void {
    if (!this.isOpen) this.deps.gatekeeper.admit([command]);
    else if ((command.spec.flags & SPECIAL) !== 0 || this.deps.fanOut !== null) this.dispatchSpecial(command);
    else {
      const node = this.nodeFor(command);
      if (node !== null) this.deps.pool.clientOf(node).dispatch(command);
    }
  }

  dispatchBatch(commands: readonly Command[]): void {
    if (!this.isOpen) {
      this.lastNodes = [];
      this.deps.gatekeeper.admit(commands);
      return;
    }
    this.isSplitting = true;
    this.merging = commands[0]?.batch?.merging ?? null;
    this.unsearched = commands;
    for (let index = 0; index < commands.length; index++) {
      const command = commands[index] as Command;
      if ((command.spec.flags & CommandFlag.Multi) === 0) {
        command.batch = null;
        this.place(command);
        continue;
      }
      const end = endOfTransaction(commands, index);
      this.placeTransaction(commands.slice(index, end));
      index = end - 1;
    }
    this.empty();
  }

  /**
   * Sends commands that have waited, all of a slot to the same node. A transaction is represented by
   * the command that closes it.
   */
  sendAgain(commands: readonly Command[]): void {
    const runs = new Map<number, Command[]>();
    this.isSplitting = true;
    for (const command of commands) {
      const run = runs.get(command.slot);
      if (command.slot < 0) this.placeKeyless(command);
      else if (run === undefined) runs.set(command.slot, [command]);
      else run.push(command);
    }
    for (const [slot, run] of runs) this.placeRun(slot, run);
    this.empty();
  }

  // --- inside ------------------------------------------------------------------------------

  private dispatchSpecial(command: Command): void {
    const { flags } = command.spec;
    if ((flags & SUBSCRIBING) !== 0) this.deps.subscriber.dispatch(command);
    else if ((flags & CommandFlag.Multi) !== 0) command.fail(new OpenTransactionError());
    else if ((flags & CommandFlag.Fieldsets) !== 0) this.spread(command, announce(command, this.deps.slots));
    else if ((flags & WATCHING) !== 0) this.dispatchToOne(command);
    else if (spansSlots(command)) command.fail(crossSlotError());
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
    this.noteWatch(command, node);
    this.deps.pool.clientOf(node).dispatch(command);
  }

  private noteWatch(command: Command, node: ClusterNode): void {
    if ((command.spec.flags & WATCHING) !== 0) this.watches.note(command, this.deps.pool.clientOf(node).link);
  }

  /** Puts one command of a batch into the bucket of its node. */
  private place(command: Command): void {
    const special = command.spec.flags & SPECIAL;
    if ((special & SUBSCRIBING) !== 0) {
      this.deps.subscriber.dispatch(command);
      return;
    }
    if ((special & CommandFlag.OneSlot) !== 0 && spansSlots(command)) {
      this.refuse(command, crossSlotError());
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
    this.noteWatch(command, node);
    this.bucketOf(node).push(command);
  }

  private placePart({ command, node }: FanOutPart): void {
    const target = node ?? this.nodeFor(command);
    this.noteNearest(command.slot, target);
    if (target !== null) this.bucketOf(target).push(command);
  }

  private placeTransaction(commands: readonly Command[]): void {
    const made = makeTransaction(commands);
    if (made instanceof Error) {
      for (const command of commands) this.refuse(command, made);
      return;
    }
    this.noteNearest(made.slot, null);
    if (this.deps.retries.isHeld(made.slot)) this.deps.retries.lineUp(made.closing);
    else {
      const node = this.masterFor(made.closing);
      if (node !== null) this.fillTransaction(made, node);
    }
  }

  /** Puts a transaction into the bucket of a node. */
  private fillTransaction(transaction: ClusterTransaction, node: ClusterNode): void {
    transaction.isWaiting = false;
    if (transaction.isGivenUp) {
      transaction.discard();
      return;
    }
    const { slot, commands } = transaction;
    const refusal = this.watches.refusal(slot, this.deps.pool.clientOf(node).link);
    if (refusal === null) this.bucketOf(node).push(...transaction.nextRun());
    else for (const command of commands) this.refuse(command, refusal);
  }

  /** A command or a transaction without keys that has waited. */
  private placeKeyless(command: Command): void {
    const transaction = transactionOf(command);
    if (transaction === null) this.place(command);
    else {
      const node = this.masterFor(command);
      if (node !== null) this.fillTransaction(transaction, node);
    }
  }

  /** Puts commands of one slot that have waited into the bucket of one node. */
  private placeRun(slot: number, run: readonly Command[]): void {
    const place = this.placeFor(slot, run);
    if (place === null) return;
    const { node, isAsk, isOwner } = place;
    // Later commands may be sent elsewhere, as may those that still wait: not before these are answered or come back.
    if (!isOwner || this.deps.retries.isHeld(slot))
      this.deps.retries.holdBehind(run, this.deps.pool.clientOf(node));
    for (const command of run) {
      const transaction = transactionOf(command);
      const target = isOwner && transaction === null ? this.readerOr(node, command) : node;
      if (target === null) continue;
      if (isAsk) this.bucketOf(target).push(askingFor(command));
      if (transaction !== null) this.fillTransaction(transaction, target);
      else {
        this.noteWatch(command, target);
        this.bucketOf(target).push(command);
      }
    }
  }

  /** Where commands of one slot go that have waited; null when they wait again. */
  private placeFor(slot: number, run: readonly Command[]): Place | null {
    const { pool, slots, retries, retryDelayMs } = this.deps;
    const owner = slots.shardOf(slot)?.master ?? null;
    const named = this.takeNamed(run);
    const node = named === null ? null : pool.at(named);
    // Whether it is right by now is for the node to say.
    if (named !== null && node !== null && !node.isDown)
      return { node, isAsk: named.isAsk, isOwner: node === owner && !named.isAsk };
    if (owner === null) {
      this.deps.onUncovered();
      const master = pool.sample("master");
      if (master !== null && !master.isDown) return { node: master, isAsk: false, isOwner: false };
    } else {
      const isLost = owner.isDown && owner.isLost;
      const isAvoided = run.some((command) => command.extra?.trail?.avoided === owner.key);
      const other = isAvoided || isLost ? pool.otherMaster(owner) : null;
      if (other !== null) return { node: other, isAsk: false, isOwner: false };
      if (!owner.isDown) return { node: owner, isAsk: false, isOwner: true };
      if (isLost) {
        this.deps.onUnreachable(owner, run);
        return null;
      }
    }
    retries.putBack(run, { reason: WaitReason.Failover, delayMs: retryDelayMs });
    return null;
  }

  /** The node that redirects of these commands have named last. */
  private takeNamed(run: readonly Command[]): NamedNode | null {
    let named: NamedNode | null = null;
    for (const { extra } of run) {
      if (extra === null || extra.trail === null || extra.trail.next === null) continue;
      named = extra.trail.next;
      extra.trail.next = null;
    }
    return named;
  }

  /** A replica that serves a read, or the master. */
  private readerOr(master: ClusterNode, command: Command): ClusterNode | null {
    const { reads, slots } = this.deps;
    if (reads === null || !isReplicaRead(command)) return master;
    const shard = slots.shardOf(command.slot);
    if (shard === null) return master;
    const reader = this.chooseReader(reads, shard, command);
    return reader?.isDown ? master : reader;
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
    this.lastNodes = touched;
    const { merging } = this;
    this.merging = null;
    for (const node of touched) {
      const { bucket } = node;
      node.bucket = [];
      if (merging !== null) gather(bucket, merging);
      this.deps.pool.clientOf(node).dispatchBatch(bucket);
    }
    if (refused.length === 0) return;
    this.refused = [];
    for (const { command, error } of refused) command.fail(error);
  }

  /** Where the command goes now; null when it waits instead. */
  private nodeFor(command: Command): ClusterNode | null {
    const slot = this.slotOf(command);
    const { retries, slots, reads } = this.deps;
    if (retries.isHeld(slot)) {
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

  /** Null when the command waits. */
  private masterFor(command: Command): ClusterNode | null {
    const { slot } = command;
    const shard = slot < 0 ? null : this.deps.slots.shardOf(slot);
    if (shard !== null) return shard.master.isDown ? this.wait(command) : shard.master;
    const node = this.anyNode(command);
    // The next one of the slot may go to another node: not before this one is answered or comes back.
    if (slot >= 0 && node !== null) this.deps.retries.holdBehind([command], this.deps.pool.clientOf(node));
    return node;
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
    command.slot = isUnknown ? this.guide.slotOf(command) : slot;
    return command.slot;
  }

  private wait(command: Command): null {
    this.deps.retries.arrive(command, { reason: WaitReason.Failover, delayMs: this.deps.retryDelayMs });
    return null;
  }
}

/** Commands without a batch share a write, and may be merged. */
function gather(commands: readonly Command[], merging: BatchMerging): void {
  const batch = new Batch(BatchKind.Automatic, 0, null);
  batch.merging = merging;
  for (const command of commands) if (command.batch === null) batch.add(command);
}

/** Scripts are loaded where they are run. */
function mayRunAtReplica(command: Command): boolean {
  return isReplicaRead(command) || command.spec.lowerName === "script";
}
