/**
 * SCAN over a whole cluster, as if it were one server: one master after the other, until every
 * master that serves slots has been through. When a master fails on the way, its successor is
 * scanned from the beginning, so elements may come more than once; a key whose slot moves from a
 * master that is still to come to one that was before may be missed.
 */

import type { ClusterNode } from "../../cluster/cluster-node";
import { OutcomeUnknownError } from "../../errors";
import { sleep } from "../../util/scheduling";
import type { ClusterWiring } from "./cluster-wiring";

type ScanReply = [cursor: string | Buffer, elements: unknown[]];

/** Stands for a cursor between two nodes: not 0, which would end the scan. */
const BETWEEN = "between";
const MAX_FAILURES = 30;
const PAUSE_MS = 200;

export class ClusterScanner {
  private readonly done = new Set<string>();
  private current: ClusterNode | null = null;
  private failures = 0;

  constructor(
    private readonly wiring: ClusterWiring,
    private readonly untilReady: () => Promise<unknown>,
  ) {}

  scan(cursor: string | Buffer, ...args: unknown[]): Promise<ScanReply> {
    return this.next("scan", cursor, args);
  }

  scanBuffer(cursor: string | Buffer, ...args: unknown[]): Promise<ScanReply> {
    return this.next("scanBuffer", cursor, args);
  }

  private async next(command: string, cursor: string | Buffer, args: unknown[]): Promise<ScanReply> {
    if (this.current === null) {
      await this.untilReady();
      this.current = this.nextNode();
      cursor = "0";
    }
    const node = this.current;
    if (node === null) return ["0", []];
    try {
      const [following, elements] = await this.ask(node, command, [cursor, ...args]);
      this.failures = 0;
      if (String(following) !== "0") return [following, elements];
      this.done.add(node.key);
      // Whether the cluster is ready for the next master is asked by the next call: this page must not be lost to it.
      this.current = null;
      return [this.nextNode() === null ? "0" : BETWEEN, elements];
    } catch (error) {
      if (++this.failures > MAX_FAILURES || !isLoss(error as Error)) throw error;
      await sleep(PAUSE_MS);
      await this.wiring.refresher.refresh().catch(() => {});
      // Its slots may have another master by now, which is then among those to come.
      this.current = null;
      return [BETWEEN, []];
    }
  }

  private nextNode(): ClusterNode | null {
    for (const node of this.wiring.slots.owners().keys()) if (!this.done.has(node.key)) return node;
    return null;
  }

  private ask(node: ClusterNode, command: string, args: unknown[]): Promise<ScanReply> {
    const view = this.wiring.openView(node) as unknown as Record<string, (...args: unknown[]) => unknown>;
    return (view[command] as (...args: unknown[]) => Promise<ScanReply>).apply(view, args);
  }
}

/** Also a SCAN that the retry policy forbids to send again: the master is scanned from its beginning then. */
function isLoss(error: Error): boolean {
  return (
    error.message === "Connection is closed." ||
    error instanceof OutcomeUnknownError ||
    /^(LOADING|MASTERDOWN|CLUSTERDOWN) /.test(error.message)
  );
}
