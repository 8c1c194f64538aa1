/**
 * Chooses the node of a shard that serves a read (`scaleReads`), from known state only. A replica that could
 * not be reached or could not serve is avoided for a while. Without a usable replica the master serves the
 * read.
 */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import { clockMs } from "../util/scheduling";
import type { ClusterNode, Shard } from "./cluster-node";
import type { RoleFilter } from "./node-pool";

/**
 * A function of the application that chooses among the views of a shard's nodes, master first. It may return
 * several; one of them is used at random.
 */
export type ReadChooser<View> = (
  views: View[],
  command: Command,
) => View | readonly View[] | null | undefined;

export interface ReadPreference {
  /** The role of nodes that may serve reads without keys. */
  readonly keyless: RoleFilter;
  choose(shard: Shard, command: Command): ClusterNode;
}

/** Reads that replicas may serve: by the command table, and only if spelled in lower case. */
export function isReplicaRead(command: Command): boolean {
  const script = command.extra?.script;
  if (script !== null && script !== undefined) return script.isReadOnly;
  const { spec, args } = command;
  return (flagsFor(spec, args) & CommandFlag.Readonly) !== 0 && spec.name === spec.lowerName;
}

function isUsable(node: ClusterNode): boolean {
  if (node.isDown) return false;
  if (node.avoidedUntilMs === 0) return true;
  if (clockMs() < node.avoidedUntilMs) return false;
  node.avoidedUntilMs = 0;
  return true;
}

function pick(nodes: readonly ClusterNode[], isWanted: (node: ClusterNode) => boolean): ClusterNode | null {
  const { length } = nodes;
  const start = Math.floor(Math.random() * length);
  for (let step = 0; step < length; step++) {
    const node = nodes[(start + step) % length] as ClusterNode;
    if (isWanted(node) && isUsable(node)) return node;
  }
  return null;
}

const anywhere = (): boolean => true;

/** `"slave"` and `"all"`; nodes in `zone` are preferred if servers report their zone. */
export class RoleReads implements ReadPreference {
  private readonly isNear: ((node: ClusterNode) => boolean) | null;

  constructor(
    readonly keyless: "all" | "slave",
    zone: string | undefined,
  ) {
    this.isNear = zone === undefined ? null : (node) => node.zone === zone;
  }

  choose(shard: Shard): ClusterNode {
    const { master } = shard;
    if (this.isNear !== null) {
      const near = this.among(shard, this.isNear);
      if (near !== null) return near;
    }
    return this.among(shard, anywhere) ?? master;
  }

  private among({ master, replicas }: Shard, isWanted: (node: ClusterNode) => boolean): ClusterNode | null {
    if (this.keyless === "all" && isWanted(master) && isUsable(master)) {
      // The master is as likely as each replica.
      if (Math.random() * (replicas.length + 1) < 1) return master;
      return pick(replicas, isWanted) ?? master;
    }
    return pick(replicas, isWanted);
  }
}

/** A function of the application. If it returns no node or one of another shard, the master serves the read. */
export class ChosenReads<View> implements ReadPreference {
  readonly keyless = "all";

  /** @param viewOf The view of a node that the function receives. */
  constructor(
    private readonly chooser: ReadChooser<View>,
    private readonly viewOf: (node: ClusterNode) => View,
  ) {}

  choose(shard: Shard, command: Command): ClusterNode {
    const nodes = [shard.master, ...shard.replicas];
    const views = nodes.map(this.viewOf);
    const nodeOf = (view: unknown): ClusterNode | null => nodes[views.indexOf(view as View)] ?? null;
    const chosen = this.chooser(views, command);
    if (!Array.isArray(chosen)) return nodeOf(chosen) ?? shard.master;
    const several = chosen.map(nodeOf).filter((node) => node !== null);
    return pick(several, anywhere) ?? shard.master;
  }
}
