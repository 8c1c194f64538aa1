/**
 * Sends every command to the node that serves its slot. A batch is split by node, not by slot, and each node
 * gets its part in one call; each MULTI ... EXEC stays together. Commands of a held slot wait in the retry
 * queue, which returns them to `sendAgain` when they may be sent. The router only chooses nodes; the redirector
 * handles commands that come back.
 */

import type { Batch } from "../command/batch";
import { type Command, UNROUTED } from "../command/command";
import type { NamedNode } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import { UNKNOWN_KEYS } from "../command/key-positions";
import { isReplicaRead } from "../command/replica-read";
import { commonSlotOf, MIXED_SLOTS, NO_SLOT, slotOf } from "../command/slot";
import { ReplyError } from "../errors";
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
import type { NodePool, RoleFilter } from "./node-pool";
import type { RetryQueue } from "./retry-queue";
import type { SlotMap } from "./slot-map";
import { WatchKeeper } from "./watch-keeper";

/** A part with its node; null: the owner of its slot. */
export interface FanOutPart {
  readonly command: Command;
  readonly node: ClusterNode | null;
}

export interface RouterDeps {
  readonly slots: SlotMap;
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  readonly lifecycle: { admit(commands: readonly Command[]): void };
  readonly reads: {
    /** The role of nodes that may serve a read without keys. */
    roleFor(command: Command): RoleFilter;
    choose(shard: Shard, command: Command): ClusterNode;
  } | null;
  readonly subscriptions: { dispatch(command: Command): void };
  /** Any command may have parts; otherwise only one that changes the fieldsets of connections. */
  readonly followsTips: boolean;
  /** Returns the parts of a command, or null if the whole command goes to one node. */
  readonly fanOut: { plan(command: Command): FanOutPart[] | null };
  readonly refresher: { request(hint: null): void };
  readonly redirector: {
    onUnreachable(node: ClusterNode, commands: readonly Command[]): void;
    wait(commands: readonly Command[]): void;
  };
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
  /** The nodes with a bucket in the current batch. */
  private touched: ClusterNode[] = [];
  private isSplitting = false;
  lastNodes: readonly ClusterNode[] = [];
  /** The slot of the last command with keys in the current batch. */
  private nearSlot = NO_SLOT;
  /** The node of that command; without one, of the last command without keys. */
  private nearNode: ClusterNode | null = null;
  /** The current batch, until it has been searched for a slot. */
  private unsearched: readonly Command[] = [];
  private batch: Batch | null = null;
  /** A failing command runs user code, which may call this router: commands fail only after all are placed. */
  private refused: { command: Command; error: Error }[] = [];

  readonly watches = new WatchKeeper();
  private readonly guide: CommandGuide;

  constructor(private readonly deps: RouterDeps) {
    this.guide = new CommandGuide(deps.pool);
  }

  dispatch(command: Command): void {
    if (!this.isOpen) this.deps.lifecycle.admit([command]);
    else if ((command.spec.flags & SPECIAL) === 0 && !this.deps.followsTips) {
      const node = this.nodeFor(command);
      if (node !== null) this.deps.pool.clientOf(node).dispatch(command);
    } else {
      this.isSplitting = true;
      this.place(command, true);
      this.empty(true);
    }
  }

  dispatchBatch(commands: readonly Command[]): void {
    if (!this.isOpen) {
      this.lastNodes = [];
      this.deps.lifecycle.admit(commands);
      return;
    }
    this.isSplitting = true;
    this.batch = commands[0]?.batch ?? null;
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
   * Sends commands that have waited, all of a slot to the same node. A transaction is represented by the
   * command that closes it.
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

  private place(command: Command, isAlone = false): void {
    const special = command.spec.flags & SPECIAL;
    if ((special & SUBSCRIBING) !== 0) {
      this.deps.subscriptions.dispatch(command);
      return;
    }
    if ((special & CommandFlag.Multi) !== 0) {
      this.refuse(command, new OpenTransactionError());
      return;
    }
    // The error that servers in cluster mode return; a single server would not report it.
    if ((special & CommandFlag.OneSlot) !== 0 && commonSlotOf(command.spec, command.args) === MIXED_SLOTS) {
      this.refuse(command, new ReplyError("CROSSSLOT Keys in request don't hash to the same slot"));
      return;
    }
    const mayHaveParts = (special & CommandFlag.Fieldsets) === 0 ? this.deps.followsTips : isAlone;
    const parts = mayHaveParts ? this.deps.fanOut.plan(command) : null;
    if (parts === null) this.put(command, this.nodeFor(command));
    else for (const part of parts) this.put(part.command, part.node ?? this.nodeFor(part.command));
  }

  /** Puts a command into the bucket of a node; null: it waits. */
  private put(command: Command, node: ClusterNode | null): void {
    this.noteNearest(command.slot, node);
    if (node === null) return;
    if ((command.spec.flags & WATCHING) !== 0) this.watches.note(command, this.deps.pool.clientOf(node).link);
    this.bucketOf(node).push(command);
  }

  private placeTransaction(commands: readonly Command[]): void {
    const made = makeTransaction(commands);
    if (made instanceof Error) {
      for (const command of commands) this.refuse(command, made);
      return;
    }
    this.noteNearest(made.slot, null);
    if (this.deps.retries.lineUp(made.closing)) return;
    this.fillTransaction(made, this.masterFor(made.closing));
  }

  /** Puts a transaction into the bucket of a node; null: it waits. */
  private fillTransaction(transaction: ClusterTransaction, node: ClusterNode | null): void {
    if (node === null) return;
    if (transaction.isGivenUp) {
      transaction.discard();
      return;
    }
    const { slot, commands } = transaction;
    const refusal = this.watches.refusal(slot, this.deps.pool.clientOf(node).link);
    if (refusal === null) {
      const bucket = this.bucketOf(node);
      for (const command of transaction.nextRun()) bucket.push(command);
    } else for (const command of commands) this.refuse(command, refusal);
  }

  private placeKeyless(command: Command): void {
    const transaction = transactionOf(command);
    if (transaction === null) this.place(command);
    else this.fillTransaction(transaction, this.masterFor(command));
  }

  private placeRun(slot: number, run: readonly Command[]): void {
    const { pool, retries, slots } = this.deps;
    const named = this.takeNamed(run);
    const target = named === null ? null : pool.at(named);
    // The node itself decides whether the redirect is still correct.
    const isNamed = target !== null && !target.isDown;
    const node = isNamed ? target : this.nodeAgain(slot, run);
    if (node === null) return;
    const isAsk = isNamed && named?.isAsk === true;
    // New commands go there as well.
    const isOwner = !isAsk && node === slots.ownerOf(slot);
    // Later commands, or those that still wait, may go to another node: they wait until these have been
    // answered or returned.
    if (!isOwner || retries.isHeld(slot)) retries.holdBehind(run, pool.clientOf(node));
    for (const command of run) {
      const transaction = transactionOf(command);
      const reader = isOwner && transaction === null ? this.readerOf(command) : undefined;
      if (isAsk) this.bucketOf(node).push(askingFor(command));
      if (transaction !== null) this.fillTransaction(transaction, node);
      else this.put(command, reader === undefined ? node : reader);
    }
  }

  /** The target of waiting commands of one slot; null when they have to wait again. */
  private nodeAgain(slot: number, run: readonly Command[]): ClusterNode | null {
    const { pool, slots } = this.deps;
    const owner = slots.ownerOf(slot);
    if (owner === null) {
      this.deps.refresher.request(null);
      const master = pool.sample("master");
      if (master !== null && !master.isDown) return master;
    } else {
      const isLost = owner.isDown && owner.isLost;
      const isAvoided = run.some((command) => command.extra?.trail?.avoided === owner.key);
      const other = isAvoided || isLost ? pool.otherMaster(owner) : null;
      if (other !== null) return other;
      if (!owner.isDown) return owner;
      if (isLost) {
        this.deps.redirector.onUnreachable(owner, run);
        return null;
      }
    }
    return this.wait(run);
  }

  /** The node that the redirects of these commands have named last. */
  private takeNamed(run: readonly Command[]): NamedNode | null {
    let named: NamedNode | null = null;
    for (const { extra } of run) {
      if (extra === null || extra.trail === null || extra.trail.next === null) continue;
      named = extra.trail.next;
      extra.trail.next = null;
    }
    return named;
  }

  private bucketOf(node: ClusterNode): Command[] {
    if (node.bucket.length === 0) this.touched.push(node);
    return node.bucket;
  }

  private refuse(command: Command, error: Error): void {
    this.refused.push({ command, error: copyError(error) });
  }

  /** Sends all buckets. With `isAlone`, they contain one command or its parts. */
  private empty(isAlone = false): void {
    const { touched, refused } = this;
    this.isSplitting = false;
    this.nearSlot = NO_SLOT;
    this.nearNode = null;
    this.unsearched = [];
    this.touched = [];
    this.lastNodes = touched;
    const { batch } = this;
    this.batch = null;
    for (const node of touched) {
      const { bucket } = node;
      node.bucket = [];
      batch?.regroup(bucket);
      const client = this.deps.pool.clientOf(node);
      if (isAlone && bucket.length === 1) client.dispatch(bucket[0] as Command);
      else client.dispatchBatch(bucket);
    }
    if (refused.length === 0) return;
    this.refused = [];
    for (const { command, error } of refused) command.fail(error);
  }

  /** Null when the command waits. */
  private nodeFor(command: Command): ClusterNode | null {
    this.setSlot(command);
    const { retries, reads } = this.deps;
    if (retries.lineUp(command)) return null;
    const reader = reads === null ? undefined : this.readerOf(command);
    return reader === undefined ? this.masterFor(command) : reader;
  }

  /** The node of a read; undefined: the master serves the command; null: the command has failed. */
  private readerOf(command: Command): ClusterNode | null | undefined {
    const { reads, slots } = this.deps;
    const { slot } = command;
    const shard = slot < 0 || !isReplicaRead(command) ? null : slots.shardOf(slot);
    if (reads === null || shard === null || slots.isLeaving(slot)) return undefined;
    try {
      const node = reads.choose(shard, command);
      return node.isDown ? undefined : node;
    } catch (thrown) {
      // A choosing function of the application that throws fails only its own command.
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
    if (shard !== null) return shard.master.isDown ? this.wait([command]) : shard.master;
    const node = this.anyNode(command);
    // The next command of the slot may go to another node: it waits until this one has been answered or
    // returned.
    if (slot >= 0 && node !== null) this.deps.retries.holdBehind([command], this.deps.pool.clientOf(node));
    return node;
  }

  /** A node for a command without keys, or of a slot without a known owner. Each node can serve or redirect it. */
  private anyNode(command: Command): ClusterNode | null {
    const { pool, reads } = this.deps;
    const role = reads !== null && isReplicaRead(command) ? reads.roleFor(command) : "master";
    if (command.slot !== NO_SLOT) this.deps.refresher.request(null);
    else if (this.isSplitting) {
      // Scripts are loaded on the node where they run.
      const mayBeReplica = role !== "master" || command.spec.lowerName === "script";
      const node = this.nearKeys(mayBeReplica);
      if (node !== null) return node;
    }
    const node = pool.sample(role);
    if (node === null || node.isDown) return this.wait([command]);
    if (this.isSplitting && command.slot === NO_SLOT) this.nearNode = node;
    return node;
  }

  private noteNearest(slot: number, node: ClusterNode | null): void {
    if (slot < 0) return;
    this.nearSlot = slot;
    this.nearNode = node;
  }

  /** The node of the nearest command in the batch, preferably with keys; null if it cannot be used. */
  private nearKeys(mayBeReplica: boolean): ClusterNode | null {
    if (this.nearSlot < 0 && this.nearNode === null) {
      this.nearSlot = this.unsearched.find((one) => this.setSlot(one) >= 0)?.slot ?? NO_SLOT;
      this.unsearched = [];
    }
    const { nearNode, nearSlot } = this;
    const isAllowed = nearNode !== null && (mayBeReplica || nearNode.role === "master");
    const node = isAllowed ? nearNode : nearSlot < 0 ? null : this.deps.slots.ownerOf(nearSlot);
    return node === null || node.isDown ? null : node;
  }

  private setSlot(command: Command): number {
    if (command.slot !== UNROUTED) return command.slot;
    const slot = slotOf(command.spec, command.args);
    const isUnknown = slot === NO_SLOT && command.spec.keys === UNKNOWN_KEYS;
    command.slot = isUnknown ? this.guide.slotOf(command) : slot;
    return command.slot;
  }

  private wait(commands: readonly Command[]): null {
    this.deps.redirector.wait(commands);
    return null;
  }
}
