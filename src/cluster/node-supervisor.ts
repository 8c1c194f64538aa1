/**
 * Translates the link events of one node for the cluster: a lost, silent or removed node triggers a refresh of
 * the slots, and its remaining commands go to the redirector.
 */

import type { Command } from "../command/command";
import type { Takeover } from "../link/link-options";
import type { LinkStatus } from "../link/link-state";
import type { ClusterNode, NodeClient } from "./cluster-node";
import { madeWhole } from "./cluster-transaction";
import type { NodePool } from "./node-pool";
import type { Redirector } from "./redirector";
import type { Refresher } from "./refresher";
import type { AnnouncedMoves, SlotMap } from "./slot-map";

export interface NodeSupervisorDeps {
  readonly pool: NodePool;
  readonly redirector: Redirector;
  readonly refresher: Refresher;
  readonly slots: SlotMap;
  readonly owner: {
    onNodeError(error: Error, key: string): void;
    emit(event: string, ...args: unknown[]): void;
  };
}

export class NodeSupervisor {
  readonly takeover: Takeover = {
    takesOver: (command) => this.deps.redirector.takesOver(command),
    takeOver: (commands, error) => {
      this.deps.redirector.takeOver(this.node, commands, error);
    },
    madeWhole,
  };
  client: NodeClient | null = null;
  private wasReady = false;

  constructor(
    private readonly node: ClusterNode,
    private readonly deps: NodeSupervisorDeps,
  ) {}

  onStatus(status: LinkStatus): void {
    const { node, client } = this;
    const { pool, redirector, refresher } = this.deps;
    const isPresent = client !== null && node.client === client;
    if (status === "ready") {
      this.wasReady = true;
      if (isPresent) pool.setLost(node, false);
    } else if (status === "reconnecting" && isPresent) {
      pool.setLost(node, true);
      if (node.isDown) redirector.leadAway(node, true);
      refresher.request(null);
    } else if (status === "end" && client !== null) {
      // Set before its link hands its commands over, so that they do not return to this node.
      if (!this.wasReady && isPresent) node.isDown = true;
      pool.onEnded(client);
    }
  }

  onReplyError(command: Command, error: Error): boolean {
    return this.deps.redirector.onReplyError(this.node, command, error);
  }

  onNamedError(type: string, error: Error): void {
    if (type === "error") this.deps.owner.onNodeError(error, this.node.key);
    else if (type === "busy") {
      // The node is silent with commands in flight: another one may have taken over.
      this.node.suspect();
      this.deps.refresher.request(null);
    }
  }

  onMaintenance(report: unknown): void {
    this.deps.owner.emit("maintenance", report, this.node.key);
  }

  /** The node has announced new owners of slots. The refresh also finds their replicas. */
  onSlotsMoved(announced: AnnouncedMoves): void {
    this.deps.slots.follow(announced);
    this.deps.refresher.askAtOnce(this.node);
  }
}
