/**
 * A node as the router sees it: an address that slots point to, and the client through which
 * commands leave. The address lasts; a client lives as long as its link and is replaced after it.
 */

import type { Command } from "../command/command";
import type { Dispatcher } from "../command/dispatcher";
import type { Link } from "../link/link";
import { clockMs } from "../util/scheduling";
import { type NodeAddress, nodeKey } from "./node-address";

export type NodeRole = "master" | "slave";

/** The way to one node; made by the client, which gives it the shape of an ordinary client. */
export interface NodeClient extends Dispatcher {
  readonly link: Link;
  /** Commands gathered for the next automatic batch. */
  readonly gathered: readonly Command[];
  /** Nothing is gathered, waits or is due from the server. */
  readonly isIdle: boolean;
  /** Hands on what is gathered, although a batch may be unanswered. */
  handOn(): void;
  /** Takes out what waits for a connection and the test is true for. */
  takeWaiting(isWanted: (command: Command) => boolean): Command[];
  /** Ends its connection at once. */
  destroy(): void;
  /** The youngest command of a slot that was given to it and is not answered, or null; one that may block does not count. */
  lastOf(slot: number): Command | null;
  /** The same of every slot, at the price of one look at each command. */
  youngest(): ReadonlyMap<number, Command>;
  /** The node serves reads of a replica from now on, or no longer. */
  setReadOnly(isReadOnly: boolean): void;
}

/** A master with its replicas. */
export class Shard {
  /** Names of its nodes, master first. */
  readonly keys: readonly string[];

  constructor(
    readonly master: ClusterNode,
    readonly replicas: readonly ClusterNode[],
  ) {
    this.keys = [master.key, ...replicas.map((replica) => replica.key)];
  }

  isSameAs(other: Shard): boolean {
    return this.keys.length === other.keys.length && this.keys.every((key, i) => key === other.keys[i]);
  }
}

/** A node that owes answers and has sent nothing for this long is not waited for once others have its slots. */
const UNHEARD_MS = 1000;

/** A node that has said CLUSTERDOWN is not believed about slots for this long. */
const DOUBT_MS = 5000;

export class ClusterNode {
  readonly key: string;
  role: NodeRole = "master";
  /** Null while no link exists: nothing was sent yet, or it was lost. */
  client: NodeClient | null = null;
  /** The shard it is master of. */
  shard: Shard | null = null;
  /** It could not be reached: commands wait for the next try instead of dialling themselves. */
  isDown = false;
  /** When it was found to owe answers and to be silent. */
  private suspectedAtMs = 0;
  /** Its connection was lost or could not be made, and is being dialled again. */
  isLost = false;
  /** Until then the node, which has said CLUSTERDOWN, is asked about slots after all others. */
  private doubtedUntilMs = 0;
  /** Its connection was replaced since it pointed to itself; done once. */
  isRenewed = false;
  /** Until then reads go elsewhere. */
  avoidedUntilMs = 0;
  /** Commands of the batch that is being split. */
  bucket: Command[] = [];

  constructor(public address: NodeAddress) {
    this.key = nodeKey(address);
  }

  /** Availability zone, where the server tells it. */
  get zone(): string | undefined {
    return this.address.zone;
  }

  /** It owes answers and is silent: another node may have taken over. Over with the next byte. */
  get isSuspect(): boolean {
    if (this.suspectedAtMs === 0) return false;
    const connection = this.client?.link.connection ?? null;
    if (connection !== null && connection.lastActivityMs <= this.suspectedAtMs) return true;
    this.suspectedAtMs = 0;
    return false;
  }

  /** It is silent, or has owed answers for a while, perhaps not long enough to have been asked. */
  get isUnheard(): boolean {
    if (this.isSuspect) return true;
    const connection = this.client?.link.connection ?? null;
    if (connection === null || clockMs() - connection.lastActivityMs <= UNHEARD_MS) return false;
    return connection.queue.inFlight > 0;
  }

  /** It has just said CLUSTERDOWN: perhaps it is cut off and others serve its slots. */
  get isDoubted(): boolean {
    return this.doubtedUntilMs !== 0 && clockMs() < this.doubtedUntilMs;
  }

  doubt(): void {
    this.doubtedUntilMs = clockMs() + DOUBT_MS;
  }

  suspect(): void {
    this.suspectedAtMs = clockMs();
  }

  /** It can be asked without dialling. */
  get isLive(): boolean {
    return this.client?.link.isWritable === true;
  }
}
