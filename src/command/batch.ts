/**
 * The single model for commands that belong together:
 *
 *   pipeline()             [get] [set] [incr]            kind Pipeline: sent again only while none
 *                                                        of its commands is answered
 *   multi(), inline multi  [multi] [get] [set] [exec]    kind Transaction: like a pipeline, and never
 *                                                        written or sent again in part
 *   auto-pipelining, bulk  [get] | [get] | [incr]        kind Automatic: only share a write;
 *                                                        after a loss each is a single command
 *   multi by hand          MULTI, [get], ... EXEC        no batch: `CommandExtra.group` of its members
 *                                                        is a batch of kind Transaction
 *
 * `command.batch` is the batch in which the command was issued. `command.group` is the batch with which it is
 * resent or fails after a loss: the transaction opened by hand if there is one, otherwise its batch. On a
 * cluster, the commands of a pipeline have no batch, so each is a single command after a loss. A transaction
 * there is a `ClusterTransaction`, a batch that can run again as a whole.
 *
 * `isStarted` and `isAnswered` refer to the current connection; `isRefused` and `isGuarded` are permanent. A
 * settling command only decrements the counter of its batch.
 */

import type { WatchUser } from "./watch-user";

export const BatchKind = {
  /** Collected by the auto-pipeliner: after a loss its commands follow the rules of single ones. */
  Automatic: 0,
  /** An explicit pipeline: sent again only if no reply of it has arrived. */
  Pipeline: 1,
  /** Contains MULTI ... EXEC: like a pipeline, and never written in part. */
  Transaction: 2,
} as const;
export type BatchKind = (typeof BatchKind)[keyof typeof BatchKind];

/** Notified when a batch is first written and first answered. */
export interface BatchTrace {
  onStarted(): void;
  onAnswered(): void;
}

/** How `merging/` may combine the commands of a batch. */
export interface BatchMerging {
  /** Lower-case names of the commands that are merged. */
  readonly merged: readonly string[];
  /** Identical reads are sent once. */
  readonly coalesces: boolean;
}

export class Batch {
  /** The number of batches of all clients whose writing has started. */
  static started = 0;

  /** Commands added by `add`. */
  size = 0;
  /** The union of their `CommandFlag` bits. */
  flags = 0;
  /** The user that issued its EXEC, if that user has ever watched keys. */
  watchUser: WatchUser | null = null;
  /** A reply to one of its commands has arrived. */
  isAnswered = false;
  /** Its first command has been encoded for the current connection. */
  isStarted = false;
  /** One of its commands must not be sent again, so none is. */
  isRefused = false;
  /** Its EXEC was issued under a WATCH: it must not run on a connection that has not sent the WATCH. */
  isGuarded = false;
  /** An automatic batch that was held back until another one was answered. */
  isHeld = false;
  /** Null without a subscriber. */
  trace: BatchTrace | null = null;
  /** Null: every command is sent unchanged. */
  merging: BatchMerging | null = null;

  /**
   * @param left Unsettled commands besides those that `add` will add.
   * @param onDone Called once, when the last of its commands has settled.
   */
  constructor(
    public kind: BatchKind,
    public left: number,
    private readonly onDone: (() => void) | null,
  ) {}

  add(command: BatchMember): void {
    command.batch = this;
    this.flags |= command.spec.flags;
    this.size++;
    this.left++;
  }

  start(): void {
    this.isStarted = true;
    Batch.started++;
    if (this.trace !== null) this.trace.onStarted();
  }

  /** The first reply to one of its commands has arrived. */
  noteAnswer(): void {
    this.isAnswered = true;
    if (this.trace !== null) this.trace.onAnswered();
  }

  /** One of its commands must not be sent again, so none is. Commands of an automatic batch are independent. */
  refuse(): void {
    if (this.kind !== BatchKind.Automatic) this.isRefused = true;
  }

  /** A command was given up before it was written: a transaction is not written without it. */
  dropOut(): void {
    if (this.kind === BatchKind.Transaction && !this.isStarted) this.isRefused = true;
  }

  /** Groups commands that a cluster sends to one node, so that those outside transactions may be merged. */
  regroup(commands: readonly BatchMember[]): void {
    if (this.merging === null) return;
    const part = new Batch(BatchKind.Automatic, 0, null);
    part.merging = this.merging;
    for (const command of commands) if (command.batch === null) part.add(command);
  }

  /** Called by each of its commands when it settles. */
  settleOne(): void {
    if (--this.left === 0 && this.onDone !== null) this.onDone();
  }
}

interface BatchMember {
  batch: Batch | null;
  readonly spec: { readonly flags: number };
}

/** Whether commands of the batch settle independently: those of an automatic batch only share a write. */
export function isIndependent(batch: Batch | null): boolean {
  return batch === null || batch.kind === BatchKind.Automatic;
}

/** The union of the commands' flags. */
export function flagsOf(commands: readonly Readonly<BatchMember>[]): number {
  let flags = 0;
  for (const command of commands) flags |= command.spec.flags;
  return flags;
}
