/**
 * A node as the router sees it: the address that slots point to, and the client that sends its commands. The
 * address is permanent; a client lives as long as its link and is then replaced.
 */

import type { Command } from "../command/command";
import type { Dispatcher } from "../command/dispatcher";
import type { Link } from "../link/link";
import type { Distance, Reader } from "../link/reader-choice";
import { clockMs } from "../util/scheduling";
import { type NodeAddress, nodeKey } from "./node-address";

/**
 * Nodes gossip about once a second. For this long after a change, a slot table may be older than the reply of
 * a node. A node that could not serve a read gets no further reads for this long.
 */
export const GOSSIP_MS = 1000;
/** A node that is silent for this long with commands in flight does not delay commands for other nodes. */
export const UNHEARD_MS = 1000;

export type NodeRole = "master" | "slave";

/** The dispatcher of one node. The cluster client creates it in the shape of an ordinary client. */
export interface NodeClient extends Dispatcher {
  readonly link: Link;
  /** No command is collected, queued or in flight. */
  readonly isIdle: boolean;
  /** Sends the collected commands, even if an earlier batch is unanswered. */
  handOn(): void;
  /** Sends QUIT after all other commands. Rejects when it is refused; a connection that is gone counts as closed. */
  leave(): Promise<void>;
  /**
   * The youngest unanswered command of a slot at this node, or null. Commands that may block do not count.
   * After a long search, returns a command of another slot that is younger than all of this slot.
   */
  lastOf(slot: number): Command | null;
  /** The same for every slot, in one pass over the commands. */
  youngest(): ReadonlyMap<number, Command>;
  readonly distance: Distance;
  /** The node starts or stops serving reads as a replica. */
  setReadOnly(isReadOnly: boolean): void;
}

export class Shard {
  readonly nodes: readonly ClusterNode[];
  /** Names of its nodes, master first; `cluster.slots` contains this list. */
  readonly keys: string[];

  constructor(
    readonly master: ClusterNode,
    readonly replicas: readonly ClusterNode[],
  ) {
    this.nodes = [master, ...replicas];
    this.keys = this.nodes.map(({ key }) => key);
  }

  isSameAs(other: Shard): boolean {
    return this.keys.length === other.keys.length && this.keys.every((key, i) => key === other.keys[i]);
  }
}

/** A node that has replied CLUSTERDOWN is not trusted about slots for this long. */
const DOUBT_MS = 5000;

export class ClusterNode implements Reader {
  readonly key: string;
  role: NodeRole = "master";
  /** Null while no link exists: no command was sent yet, or the link was lost. */
  client: NodeClient | null = null;
  /** The shard of which it is the master. */
  shard: Shard | null = null;
  /** The node could not be reached: commands wait for the next attempt and do not open a connection. */
  isDown = false;
  /** When the node was found silent with commands in flight; 0: not suspect. */
  private suspectedAtMs = 0;
  /** Its connection was lost or could not be made, and is being reconnected. */
  isLost = false;
  /** After a CLUSTERDOWN reply, the node is asked for the slot table last until this time. */
  private doubtedUntilMs = 0;
  /** Its connection was replaced after the node redirected to itself; done once. */
  isRenewed = false;
  avoidedUntilMs = 0;
  bucket: Command[] = [];

  constructor(public address: NodeAddress) {
    this.key = nodeKey(address);
  }

  get zone(): string | undefined {
    return this.address.zone;
  }

  /** It can be reached, and has not recently failed to serve a read. */
  get takesReads(): boolean {
    return !this.isDown && (this.avoidedUntilMs === 0 || clockMs() >= this.avoidedUntilMs);
  }

  distanceMs(nowMs: number): number | null {
    return this.client === null ? null : this.client.distance.read(nowMs);
  }

  /** The node is silent with commands in flight: another may have taken over. The next byte clears this. */
  get isSuspect(): boolean {
    if (this.suspectedAtMs === 0) return false;
    const connection = this.client?.link.connection ?? null;
    if (connection !== null && connection.lastActivityMs <= this.suspectedAtMs) return true;
    this.suspectedAtMs = 0;
    return false;
  }

  /** The node is suspect, or silent for `UNHEARD_MS` with commands in flight, perhaps before any probe. */
  get isUnheard(): boolean {
    if (this.isSuspect) return true;
    const connection = this.client?.link.connection ?? null;
    if (connection === null || clockMs() - connection.lastActivityMs <= UNHEARD_MS) return false;
    return connection.queue.inFlight > 0;
  }

  /** It has recently replied CLUSTERDOWN: it may be cut off while other nodes serve its slots. */
  get isDoubted(): boolean {
    return clockMs() < this.doubtedUntilMs;
  }

  avoid(): void {
    this.avoidedUntilMs = clockMs() + GOSSIP_MS;
  }

  doubt(): void {
    this.doubtedUntilMs = clockMs() + DOUBT_MS;
  }

  suspect(): void {
    this.suspectedAtMs = clockMs();
  }

  get isLive(): boolean {
    return this.client?.link.isWritable === true;
  }
}
