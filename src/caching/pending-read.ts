/** A read that is in flight, and the calls that wait for its reply. */

import type { Command } from "../command/command";
import type { SettleHook, TrackedRead } from "../command/command-extra";
import type { CachedReply, KeyNode, Question } from "./cache-store";
import type { TrackedConnection } from "./tracked-connection";

/** Receives the outcome of a read. */
export interface ReadListener {
  onAnswered(read: PendingRead, value: unknown): void;
  onFailed(read: PendingRead, error: Error): void;
}

export class PendingRead implements SettleHook, TrackedRead {
  connection: TrackedConnection | null = null;
  /** Commands with the same question; they are never sent. */
  followers: Command[] | null = null;
  /** The part of its reply that is stored. */
  kept: CachedReply | null = null;

  constructor(
    private readonly listener: ReadListener,
    /** The nodes of its keys, in order. */
    readonly nodes: readonly [KeyNode, ...KeyNode[]],
    readonly question: Question,
    readonly terms: {
      /** The epoch of the store when the read was issued. */
      readonly epoch: number;
      readonly bornMs: number;
      readonly ttlMs: number;
      /** The server is also asked for the key's time to live. */
      readonly asksTtl: boolean;
    },
  ) {
    for (const node of nodes) node.uses++;
  }

  get expiringKey(): string | null {
    return this.terms.asksTtl && this.nodes.length === 1 ? this.nodes[0].key : null;
  }

  /** Counted from when the read was issued, which is earlier than the reply about the time to live. */
  onTimeToLive(ms: number): void {
    const { kept, terms } = this;
    if (kept !== null && ms >= 0) kept.expiresAtMs = Math.min(kept.expiresAtMs, terms.bornMs + ms);
  }

  /** True if the command asks the same. */
  isFor({ spec, args, wantsBuffers }: Question): boolean {
    const { question } = this;
    return (
      question.spec === spec &&
      question.wantsBuffers === wantsBuffers &&
      question.args.length === args.length &&
      question.args.every((arg, index) => arg === args[index])
    );
  }

  join(command: Command): void {
    if (this.followers === null) this.followers = [command];
    else this.followers.push(command);
  }

  /** All its keys have stayed in the store since it was issued. */
  isUpToDate(epoch: number): boolean {
    return this.terms.epoch === epoch && !this.nodes.some((node) => node.isGone);
  }

  onSettled(error: Error | null, value?: unknown): void {
    if (error === null) this.listener.onAnswered(this, value);
    else this.listener.onFailed(this, error);
  }
}

/** The reads in flight, by their first key. */
export class PendingReads {
  private readonly reads = new Map<string, PendingRead[]>();

  /**
   * A read with the same question that was issued after `sinceMs`; its keys have stayed in the store since
   * then.
   */
  find(key: string, question: Question, epoch: number, sinceMs: number): PendingRead | undefined {
    return this.reads
      .get(key)
      ?.find((read) => read.terms.bornMs >= sinceMs && read.isUpToDate(epoch) && read.isFor(question));
  }

  add(read: PendingRead): void {
    const { key } = read.nodes[0];
    const reads = this.reads.get(key);
    if (reads === undefined) this.reads.set(key, [read]);
    else reads.push(read);
  }

  delete(read: PendingRead): void {
    const { key } = read.nodes[0];
    const reads = this.reads.get(key);
    if (reads === undefined) return;
    reads.splice(reads.indexOf(read), 1);
    if (reads.length === 0) this.reads.delete(key);
  }
}
