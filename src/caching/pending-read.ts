/** A read that is in flight, and the calls that wait for its reply. */

import type { Command } from "../command/command";
import type { TrackedRead } from "../command/command-extra";
import type { CachedReply, KeyNode, Question } from "./cache-store";
import type { TrackedConnection } from "./tracked-connection";

export class PendingRead implements TrackedRead {
  connection: TrackedConnection | null = null;
  /** Commands with the same question; they are never sent. */
  readonly followers: Command[] = [];
  expiringKey: string | null = null;
  /** The part of its reply that is stored. */
  kept: CachedReply | null = null;

  constructor(
    /** The nodes of its keys, in order. */
    readonly nodes: readonly KeyNode[],
    readonly question: Question,
    readonly bornMs: number,
    readonly ttlMs: number,
  ) {
    for (const node of nodes) node.uses++;
  }

  /** Counts from the issue of the read, so the reply expires no later than its key. */
  onTimeToLive(ms: number): void {
    const { kept } = this;
    if (kept !== null && ms >= 0) kept.expiresAtMs = Math.min(kept.expiresAtMs, this.bornMs + ms);
  }
}
