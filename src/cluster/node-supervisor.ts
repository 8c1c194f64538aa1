/**
 * The events of the link of one node, and what they mean for the cluster: a node that is lost,
 * silent or gone is a reason to ask for the slots, and what it leaves behind is judged by the redirector.
 */

import type { Command } from "../command/command";
import type { Takeover } from "../link/link-options";
import type { LinkStatus } from "../link/link-state";
import type { ClusterNode, NodeClient } from "./cluster-node";
import { madeWhole } from "./cluster-transaction";
import type { NodePool } from "./node-pool";
import type { Redirector } from "./redirector";
import type { Refresher } from "./refresher";

/** The modules that act on it; they are made after the pool. */
export interface NodeSupervisorDeps {
  readonly pool: NodePool;
  readonly redirector: Redirector;
  readonly refresher: Refresher;
  readonly owner: { onNodeError(error: Error, key: string): void };
}

export class NodeSupervisor {
  readonly takeover: Takeover = {
    takesOver: (command) => this.deps.redirector.takesOver(command),
    takeOver: (commands, error) => {
      this.deps.redirector.takeOver(this.node, commands, error);
    },
    madeWhole,
  };
  /** Set once it is made. */
  client: NodeClient | null = null;
  private wasReady = false;

  constructor(
    private readonly node: ClusterNode,
    private readonly deps: NodeSupervisorDeps,
  ) {}

  onStatus(status: LinkStatus): void {
    const { node, client } = this;
    const { pool } = this.deps;
    const isPresent = client !== null && node.client === client;
    if (status === "ready") {
      this.wasReady = true;
      if (isPresent) pool.regain(node);
    } else if (status === "reconnecting" && isPresent) this.onLost();
    else if (status === "end" && client !== null) {
      // Before its link hands its commands over, so that they do not come here again.
      if (!this.wasReady && isPresent) node.isDown = true;
      pool.onEnded(client);
    }
  }

  /** An error reply; true when the command goes to another node. */
  onReplyError(command: Command, error: Error): boolean {
    return this.deps.redirector.onReplyError(this.node, command, error);
  }

  onNamedError(type: string, error: Error): void {
    if (type === "error") this.deps.owner.onNodeError(error, this.node.key);
    else if (type === "busy") this.onBusy();
  }

  /** The node owes answers and is silent: perhaps another one has taken over. */
  private onBusy(): void {
    const { pool, refresher } = this.deps;
    if (pool.suspect(this.node.key)) refresher.request(null);
  }

  /** The connection was lost or could not be made, and is dialled again: perhaps another node takes over. */
  private onLost(): void {
    const { pool, redirector, refresher } = this.deps;
    if (pool.lose(this.node)) redirector.onLost(this.node);
    refresher.request(null);
  }
}
