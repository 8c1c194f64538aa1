/**
 * Which node of a shard serves a read (`scaleReads`). Looks at what is known without asking:
 * a replica that could not be reached or could not serve is left alone for a while, and when no
 * replica is usable the master serves.
 */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import { clockMs } from "../util/scheduling";
import type { ClusterNode, Shard } from "./cluster-node";
import type { RoleFilter } from "./node-pool";

/** A function of the application that chooses among the views of a shard's nodes, master first. Several: one of them at random. */
export type ReadChooser<View> = (
  views: View[],
  command: Command,
) => View | readonly View[] | null | undefined;

export interface ReadPreference {
  /** Role of nodes that may serve reads without keys. */
  readonly keyless: RoleFilter;
  choose(shard: Shard, command: Command): ClusterNode;
}

/** Reads that may leave the master: by the command table and only if spelled in lower case. */
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

/** `"slave"` and `"all"`; nodes in `zone` come first, where servers tell their zone. */
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
      // The master is one of all, with the same chance.
      if (Math.random() * (replicas.length + 1) < 1) return master;
      return pick(replicas, isWanted) ?? master;
    }
    return pick(replicas, isWanted);
  }
}

/** A function of the application. Nothing, or what is not of the shard, means the master. */
export class ChosenReads<View> implements ReadPreference {
  readonly keyless = "all";

  /** @param viewOf What the function sees of a node. */
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
