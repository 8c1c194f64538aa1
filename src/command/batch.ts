/**
 * The one model of commands that belong together:
 *
 *   pipeline()             [get] [set] [incr]            kind Pipeline: goes again only while nothing
 *                                                        of it was answered
 *   multi(), inline multi  [multi] [get] [set] [exec]    kind Transaction: as a pipeline, and never
 *                                                        written or sent again in part
 *   auto-pipelining, bulk  [get] | [get] | [incr]        kind Automatic: share a write and nothing
 *                                                        else; after a loss each is a single command
 *   multi by hand          MULTI, [get], ... EXEC        no batch: `CommandExtra.group` of its members
 *                                                        is a batch of kind Transaction
 *
 * `command.batch` is what it was issued in. `command.group` is what it shares its fate with after
 * a loss: the transaction opened by hand if there is one, otherwise its batch. A cluster puts its
 * own batches in the place of those: one for each node, and a `ClusterTransaction` (a batch that can
 * run again as a whole) for each transaction.
 *
 *        add                        settleOne, by each command
 *   new ------------> left = size -----------------------------> left = 0: onDone, once
 *
 * `isStarted` and `isAnswered` are about the present connection; `isRefused` and `isGuarded` are
 * for good. Settling lowers the counter, and nothing else travels upward.
 */

import type { Caller } from "./caller";

export const BatchKind = {
  /** Gathered by the auto-pipeliner: after a loss its commands follow the rules of single ones. */
  Automatic: 0,
  /** An explicit pipeline: sent again only while no reply of it has arrived. */
  Pipeline: 1,
  /** Contains MULTI ... EXEC: as a pipeline, and never written in part. */
  Transaction: 2,
} as const;
export type BatchKind = (typeof BatchKind)[keyof typeof BatchKind];

/** Is told when a batch is first written and first answered. */
export interface BatchTrace {
  onStarted(): void;
  onAnswered(): void;
}

/** Makes fewer commands of a batch as it is handed to a connection (`merging/`). Order stays as it is. */
export interface BatchMerging {
  /** The commands to be sent in the place of these. What the connection has shown is remembered. */
  plan(commands: readonly Member[], connection: object): readonly Member[];
}

export class Batch {
  /** Batches of all clients that were begun to be written. */
  static started = 0;

  /** Commands that were given to `add`. */
  size = 0;
  /** All `CommandFlag` bits that any of those has. */
  flags = 0;
  /** The caller that issued its EXEC, if that one has ever watched keys. */
  caller: Caller | null = null;
  /** A reply to one of its commands has arrived. */
  isAnswered = false;
  /** Its first command has been encoded for the present connection. */
  isStarted = false;
  /** A command of it may not be sent again, so none is. */
  isRefused = false;
  /** Its EXEC was issued under a WATCH: it must not run on a connection that did not see the WATCH. */
  isGuarded = false;
  /** An automatic batch that was held back until another one was answered. */
  isHeld = false;
  /** An automatic batch behind which the rest of its turn is sent without waiting for an answer. */
  isFollowed = false;
  /** Null while nobody listens. */
  trace: BatchTrace | null = null;
  /** Null: every command is sent as it is. */
  merging: BatchMerging | null = null;

  /**
   * @param left Commands that are not settled yet, besides those that `add` will bring.
   * @param onDone Called once, when the last of its commands has settled.
   */
  constructor(
    public kind: BatchKind,
    public left: number,
    private readonly onDone: (() => void) | null,
  ) {}

  /** Makes a command one of the batch, and counts it. */
  add(command: { batch: Batch | null; readonly spec: { readonly flags: number } }): void {
    command.batch = this;
    this.flags |= command.spec.flags;
    this.size++;
    this.left++;
  }

  /** Its first command is being written. */
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

  /** A command of it may not be sent again, so none is; those of an automatic batch have nothing to do with each other. */
  refuse(): void {
    if (this.kind !== BatchKind.Automatic) this.isRefused = true;
  }

  /** A command of it was given up before it was written: a transaction is not written without it. */
  dropOut(): void {
    if (this.kind === BatchKind.Transaction && !this.isStarted) this.isRefused = true;
  }

  /** Called by each of its commands as it settles. */
  settleOne(): void {
    if (--this.left === 0 && this.onDone !== null) this.onDone();
  }
}

/** The fields of a command that a batch looks at. */
interface Member {
  readonly batch: Batch | null;
  readonly spec: { readonly flags: number };
}

/** All flags that any of the commands has; a whole batch knows them already. */
export function flagsOf(commands: readonly Member[]): number {
  const batch = commands[0]?.batch;
  if (batch !== null && batch !== undefined && batch.size === commands.length) return batch.flags;
  let flags = 0;
  for (const command of commands) flags |= command.spec.flags;
  return flags;
}
