/**
 * Chooses the node of a shard that serves a read (`scaleReads`), from known state only. A replica that could
 * not be reached or could not serve is avoided for a while. The master serves a read if no replica is usable,
 * or if the read could miss a write of this client (`readYourWrites`).
 */

import type { ClusterNode, Shard } from "../../cluster/cluster-node";
import type { RoleFilter } from "../../cluster/node-pool";
import type { Command } from "../../command/command";
import { hasCursor } from "../../command/replica-read";
import { chooseReader, type ReaderPreference } from "../../link/reader-choice";

/**
 * A function of the application that chooses among the views of a shard's nodes, master first. It may return
 * several; one of them is used at random.
 */
export type ReadChooser<View> = (
  views: View[],
  command: Command,
) => View | readonly View[] | null | undefined;

const ANYWHERE: ReaderPreference = { zone: undefined, isNearest: false };

/** How `scaleReads` selects the node of a read. */
interface OptionReads {
  /** The role of nodes that may serve reads without keys. */
  readonly keyless: RoleFilter;
  choose(shard: Shard, command: Command): ClusterNode;
}

/** Nodes of a role, by zone and latency. */
export class RoleReads implements OptionReads {
  constructor(
    readonly keyless: "all" | "slave",
    private readonly preference: ReaderPreference,
  ) {}

  choose({ master, nodes, replicas }: Shard, { spec }: Command): ClusterNode {
    if (hasCursor(spec)) return master;
    return chooseReader(this.keyless === "all" ? nodes : replicas, this.preference) ?? master;
  }
}

/** The writes of the client that a replica may not have yet. */
export interface RecentWrites {
  /** Whether the read could miss one of them. */
  concerns(command: Command): boolean;
  /** The slot has moved to another master. */
  noteMoved(slot: number): void;
}

/** Chooses the node for each read: by the call, then by recent writes of the client, then by the option. */
export class ReadPreference {
  /**
   * @param byOption Null: the master.
   * @param byCall For calls that ask for a replica.
   * @param writes Null: reads do not depend on writes.
   */
  constructor(
    private readonly byOption: OptionReads | null,
    private readonly byCall: OptionReads,
    private readonly writes: RecentWrites | null,
  ) {}

  /** The role of nodes that may serve a read without keys. */
  roleFor(command: Command): RoleFilter {
    return this.decider(command)?.keyless ?? "master";
  }

  choose(shard: Shard, command: Command): ClusterNode {
    return this.decider(command)?.choose(shard, command) ?? shard.master;
  }

  private decider(command: Command): OptionReads | null {
    const readFrom = command.extra?.readFrom ?? null;
    if (readFrom !== null) return readFrom === "replica" ? this.byCall : null;
    return this.byOption === null || this.writes?.concerns(command) === true ? null : this.byOption;
  }
}

/** A function of the application. If it returns no node or one of another shard, the master serves the read. */
export class ChosenReads<View> implements OptionReads {
  readonly keyless = "all";

  /** @param viewOf The view of a node that the function receives. */
  constructor(
    private readonly chooser: ReadChooser<View>,
    private readonly viewOf: (node: ClusterNode) => View,
  ) {}

  choose(shard: Shard, command: Command): ClusterNode {
    const { nodes } = shard;
    const views = nodes.map(this.viewOf);
    const nodeOf = (view: unknown): ClusterNode | null => nodes[views.indexOf(view as View)] ?? null;
    const chosen = this.chooser(views, command);
    if (!Array.isArray(chosen)) return nodeOf(chosen) ?? shard.master;
    const several = chosen.map(nodeOf).filter((node) => node !== null);
    return chooseReader(several, ANYWHERE) ?? shard.master;
  }
}

interface ReadOptions {
  readonly scaleReads?: unknown;
  readonly availabilityZone?: string | undefined;
}

/**
 * Null if masters serve all reads and a call cannot choose a replica.
 * @param viewOf The view of a node that a function of the application receives.
 */
export function makeReadPreference(
  { scaleReads, availabilityZone: zone }: ReadOptions,
  writes: RecentWrites | null,
  viewOf: (node: ClusterNode) => unknown,
): ReadPreference | null {
  if (scaleReads === undefined || scaleReads === "master") return null;
  const preference = { zone, isNearest: scaleReads === "nearest" };
  const ofReplicas = new RoleReads("slave", preference);
  let byOption: OptionReads | null = ofReplicas;
  if (scaleReads === "primary") byOption = null;
  else if (scaleReads === "all" || scaleReads === "nearest") byOption = new RoleReads("all", preference);
  else if (typeof scaleReads === "function")
    byOption = new ChosenReads(scaleReads as ReadChooser<unknown>, viewOf);
  return new ReadPreference(byOption, ofReplicas, writes);
}
