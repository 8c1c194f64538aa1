/** A read that is in flight, and the calls that wait for its reply. */

import type { Command } from "../command/command";
import type { TrackedRead } from "../command/command-extra";
import type { CachedReply, KeyNode, Question } from "./cache-store";
import type { TrackedConnection } from "./tracked-connection";

export class PendingRead implements TrackedRead {
  connection: TrackedConnection | null = null;
  /** Commands with the same question; they are never sent. */
  readonly followers: Command[] = [];
  /** The part of its reply that is stored. */
  kept: CachedReply | null = null;

  constructor(
    /** The nodes of its keys, in order. */
    readonly nodes: readonly KeyNode[],
    readonly question: Question,
    readonly terms: {
      readonly bornMs: number;
      readonly ttlMs: number;
      /** The server is also asked for the key's time to live. */
      readonly asksTtl: boolean;
    },
  ) {
    for (const node of nodes) node.uses++;
  }

  get expiringKey(): string | null {
    const [node] = this.nodes;
    return this.terms.asksTtl && node !== undefined && this.nodes.length === 1 ? node.key : null;
  }

  /** Counted from when the read was issued, which is earlier than the reply about the time to live. */
  onTimeToLive(ms: number): void {
    const { kept } = this;
    if (kept !== null && ms >= 0) kept.expiresAtMs = Math.min(kept.expiresAtMs, this.terms.bornMs + ms);
  }
}
