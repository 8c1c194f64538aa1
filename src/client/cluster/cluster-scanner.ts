/**
 * SCAN over a whole cluster as if it were one server: one master after the other, until every master with slots
 * has been scanned. If a master fails meanwhile, its successor is scanned from the beginning, so elements may
 * be returned more than once. A key may be missed if its slot moves from a master that is still to be scanned
 * to one that was scanned before.
 */

import type { ClusterNode } from "../../cluster/cluster-node";
import { OutcomeUnknownError } from "../../errors";
import { sleep } from "../../util/scheduling";
import type { ClusterWiring } from "./cluster-wiring";

type ScanReply = [cursor: string | Buffer, elements: unknown[]];

/** Represents a cursor between two nodes. It is not 0, which would end the scan. */
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
      // The next call checks whether the cluster is ready for the next master: a failed check must not lose
      // this page.
      this.current = null;
      return [this.nextNode() === null ? "0" : BETWEEN, elements];
    } catch (error) {
      if (++this.failures > MAX_FAILURES || !isLoss(error as Error)) throw error;
      await sleep(PAUSE_MS);
      await this.wiring.refresher.refresh().catch(() => {});
      // Another master may own its slots now, and it will be scanned in its turn.
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

/**
 * Includes a SCAN that the retry policy does not allow to be sent again: its master is then scanned from the
 * beginning.
 */
function isLoss(error: Error): boolean {
  return (
    error.message === "Connection is closed." ||
    error instanceof OutcomeUnknownError ||
    /^(LOADING|MASTERDOWN|CLUSTERDOWN) /.test(error.message)
  );
}
