/**
 * Chooses the node of a shard that serves a read (`scaleReads`), from known state only. A replica that could
 * not be reached or could not serve is avoided for a while. Without a usable replica, the master serves the
 * read, and so it does if the read could miss a write of this client (`readYourWrites`).
 */

import type { Command } from "../command/command";
import { hasCursor, isReplicaRead } from "../command/replica-read";
import { chooseReader, type ReaderPreference } from "../link/reader-choice";
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

export { isReplicaRead };

const ANYWHERE: ReaderPreference = { zone: undefined, isNearest: false };

/** The writes of the client that a replica may not have yet. */
export interface RecentWrites {
  /** Whether the read could miss one of them. */
  concerns(command: Command): boolean;
  /** Another master has the slot. */
  noteMoved(slot: number): void;
}

/** Null if the application chose no node of the shard that takes reads. */
type NodeChooser = (nodes: readonly ClusterNode[], command: Command) => ClusterNode | null;

/** The node for each read: the choice of its call, then the own writes of the client, then the option. */
export class ReadPreference {
  /**
   * @param role The nodes that the option names.
   * @param chosen The choice of the application among the nodes of a shard. Null: zone and round trip decide.
   * @param writes Null: reads do not depend on writes.
   */
  constructor(
    private readonly role: RoleFilter,
    private readonly chosen: NodeChooser | null,
    private readonly preference: ReaderPreference,
    private readonly writes: RecentWrites | null,
  ) {}

  /** The role of nodes that may serve a read. */
  roleFor(command: Command): RoleFilter {
    const readFrom = command.extra?.readFrom ?? null;
    if (readFrom !== null) return readFrom === "replica" ? "slave" : "master";
    return this.role !== "master" && this.writes?.concerns(command) === true ? "master" : this.role;
  }

  choose(shard: Shard, command: Command): ClusterNode {
    const { master, nodes, replicas } = shard;
    const role = this.roleFor(command);
    if (role === "all" && this.chosen !== null) return this.chosen(nodes, command) ?? master;
    if (role === "master" || hasCursor(command.spec)) return master;
    return chooseReader(role === "all" ? nodes : replicas, this.preference) ?? master;
  }
}

interface ReadOptions {
  readonly scaleReads?: unknown;
  readonly availabilityZone?: string | undefined;
}

/**
 * Null if every read goes to the master and no call may choose.
 * @param viewOf The view of a node that a function of the application receives.
 */
export function makeReadPreference(
  { scaleReads, availabilityZone: zone }: ReadOptions,
  writes: RecentWrites | null,
  viewOf: (node: ClusterNode) => unknown,
): ReadPreference | null {
  if (scaleReads === undefined || scaleReads === "master") return null;
  const chosen: NodeChooser | null =
    typeof scaleReads !== "function"
      ? null
      : (nodes, command) => {
          const views = nodes.map(viewOf);
          const found = [(scaleReads as ReadChooser<unknown>)(views, command)].flat();
          const several = found
            .map((view) => nodes[views.indexOf(view)])
            .filter((node) => node !== undefined);
          return chooseReader(several, ANYWHERE);
        };
  const isNearest = scaleReads === "nearest";
  const mayBeAny = chosen !== null || isNearest || scaleReads === "all";
  const role = scaleReads === "primary" ? "master" : mayBeAny ? "all" : "slave";
  return new ReadPreference(role, chosen, { zone, isNearest }, writes);
}
