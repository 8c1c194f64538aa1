/**
 * The known nodes, by name, and their clients. Opens clients on demand and drops nodes that have left the
 * cluster: their unanswered commands get a short time to finish before they are sent elsewhere. Handles neither
 * slots nor redirects.
 *
 * A client takes commands until its link ends, and an ending link hands its commands to the redirector, so a
 * command given to a client from this pool settles or comes back. While the cluster is closed (`isSealed`), the
 * pool returns only clients that have ended, so that closing completes.
 */

import { clockMs, sleep } from "../util/scheduling";
import { ClusterNode, type NodeClient, type NodeRole } from "./cluster-node";
import { type NodeAddress, nodeKey } from "./node-address";

export interface PoolDeps {
  makeClient(node: ClusterNode): NodeClient;
  onClientOpened(client: NodeClient): void;
  onClientClosed(node: ClusterNode, client: NodeClient): void;
  readonly lifecycle: { onEmpty(): void };
}

export type RoleFilter = NodeRole | "all";

/** Clusters have at most about a thousand nodes; redirects of a hostile server must not fill the memory. */
const MAX_NODES = 4096;
const FAREWELL_MS = 2000;
const FAREWELL_POLL_MS = 25;

export class NodePool {
  private readonly nodes = new Map<string, ClusterNode>();
  /** Clients that are open or opening, including those of leaving nodes. */
  private readonly clients = new Map<NodeClient, ClusterNode>();
  /** No connection may be opened: the cluster is closed or closing. */
  isSealed = true;

  /** @param waitsForLost Commands wait at a node that is reconnecting; otherwise they go to other nodes. */
  constructor(
    private readonly deps: PoolDeps,
    private readonly waitsForLost: boolean,
  ) {}

  allClients(): NodeClient[] {
    return [...this.clients.keys()];
  }

  forgetDown(): void {
    for (const node of this.nodes.values()) node.isDown = node.isLost && !this.waitsForLost;
  }

  /** The connection of a node is being reconnected, or is ready again. */
  setLost(node: ClusterNode, isLost: boolean): void {
    node.isLost = isLost;
    node.isDown = isLost && !this.waitsForLost;
  }

  /** Another master that may know the current owner of the slots of `node`; null if none can be asked. */
  otherMaster(node: ClusterNode): ClusterNode | null {
    const isSound = (one: ClusterNode): boolean =>
      one !== node && !one.isDown && !one.isLost && !one.isDoubted && !one.isUnheard;
    const sound = this.list("master").filter(isSound);
    // A node that cannot be reached would keep the command for the time of a connection attempt.
    const live = sound.filter((one) => one.isLive);
    return randomNode(live, sound);
  }

  list(role: RoleFilter = "all"): ClusterNode[] {
    const wanted = (node: ClusterNode): boolean =>
      node.client !== null && (role === "all" || node.role === role);
    return [...this.nodes.values()].filter(wanted);
  }

  /** The node at an address, created if unknown; null when the pool is full. */
  at(address: NodeAddress): ClusterNode | null {
    const key = nodeKey(address);
    const known = this.nodes.get(key) ?? this.leavingAt(key);
    if (known !== null || this.nodes.size >= MAX_NODES) return known;
    const node = new ClusterNode(address);
    this.nodes.set(key, node);
    return node;
  }

  /** The client of a node; a new one if it has none or it is closing. */
  clientOf(node: ClusterNode): NodeClient {
    const { client } = node;
    return client !== null && !client.link.isLeaving ? client : this.reopen(node);
  }

  beginWith(addresses: readonly NodeAddress[]): void {
    for (const address of addresses) {
      const node = this.at(address);
      if (node !== null) this.clientOf(node);
    }
  }

  renew(node: ClusterNode): void {
    node.isRenewed = true;
    this.part(node);
    this.open(node);
  }

  /** A random node of the role; of any role if the role has no node. */
  sample(role: RoleFilter): ClusterNode | null {
    const up = this.list(role).filter((node) => !node.isDown);
    const sound = up.filter((node) => !node.isLost && !node.isDoubted);
    return randomNode(sound, up, this.list());
  }

  /** Replaces the set of nodes. Clients are created now, connections when needed. */
  setMembers(members: ReadonlyMap<ClusterNode, NodeRole>): void {
    for (const node of [...this.nodes.values()]) if (!members.has(node)) this.remove(node);
    for (const [node, role] of members) {
      this.nodes.set(node.key, node);
      this.setRole(node, role);
      this.clientOf(node);
    }
  }

  setRole(node: ClusterNode, role: NodeRole): void {
    if (node.role === role) return;
    node.role = role;
    if (role === "slave") node.shard = null;
    // The unanswered commands of a silent former master move to its successor.
    if (role === "slave" && node.isUnheard) this.part(node);
    node.client?.setReadOnly(role === "slave");
  }

  private remove(node: ClusterNode): void {
    this.nodes.delete(node.key);
    // If no other owner of its slots is known, they still point to this node, and the next command tries it.
    node.isDown = false;
    node.isLost = false;
    node.shard = null;
    this.part(node);
  }

  private part(node: ClusterNode): void {
    const { client, isUnheard } = node;
    if (client === null) return;
    node.client = null;
    if (isUnheard) retire(client);
    else void this.letGo(node, client);
  }

  onEnded(client: NodeClient): void {
    const node = this.clients.get(client);
    if (node === undefined) return;
    this.clients.delete(client);
    if (node.client === client) {
      node.client = null;
      node.isLost = false;
    }
    if (this.isSealed) this.forgetClosed(node);
    this.deps.onClientClosed(node, client);
    if (this.clients.size === 0) this.deps.lifecycle.onEmpty();
  }

  /** Closes everything. Nodes are removed as their connections end, so an empty list means that all are closed. */
  clear(): void {
    this.isSealed = true;
    for (const client of this.allClients()) {
      client.handOn();
      client.link.disconnect();
    }
    for (const node of [...this.nodes.values()]) this.forgetClosed(node);
  }

  /** A removed node whose client is not closed yet: if it is named again, it keeps its connection. */
  private leavingAt(key: string): ClusterNode | null {
    const isUsable = ([client, node]: [NodeClient, ClusterNode]): boolean =>
      node.key === key && node.client === null && !client.link.isLeaving;
    const found = [...this.clients].findLast(isUsable);
    if (found === undefined) return null;
    const [client, node] = found;
    node.client = client;
    this.nodes.set(key, node);
    return node;
  }

  /**
   * A new client for a node that may have left. Commands are sent only to known nodes; a client of an unknown
   * node would never be retired.
   */
  private reopen(node: ClusterNode): NodeClient {
    const known = this.nodes.get(node.key) ?? this.leavingAt(node.key) ?? node;
    if (known !== node || (node.client !== null && !node.client.link.isLeaving)) return this.clientOf(known);
    if (!this.isSealed) this.nodes.set(node.key, node);
    return this.open(node);
  }

  private open(node: ClusterNode): NodeClient {
    const client = this.deps.makeClient(node);
    if (this.isSealed) {
      client.link.disconnect();
      return client;
    }
    node.client = client;
    this.clients.set(client, node);
    this.deps.onClientOpened(client);
    return client;
  }

  private forgetClosed(node: ClusterNode): void {
    node.isDown = false;
    if (node.client === null && this.nodes.get(node.key) === node) this.nodes.delete(node.key);
  }

  /** Disconnects when everything is answered, or when the time limit has passed. */
  private async letGo(node: ClusterNode, client: NodeClient): Promise<void> {
    const deadlineMs = clockMs() + FAREWELL_MS;
    while (!client.isIdle && clockMs() < deadlineMs) {
      await sleep(FAREWELL_POLL_MS);
      // It is used again, has ended, or is closing. A QUIT waits behind the unanswered commands.
      if (node.client === client || !this.clients.has(client) || client.link.isClosing) return;
    }
    if (client.isIdle) client.link.disconnect();
    else retire(client);
  }
}

/** A random node of the first group that is not empty; null if all groups are empty. */
export function randomNode(...groups: readonly ClusterNode[][]): ClusterNode | null {
  const nodes = groups.find(({ length }) => length > 0) ?? [];
  return nodes[Math.floor(Math.random() * nodes.length)] ?? null;
}

function retire(client: NodeClient): void {
  // Unanswered commands precede the collected ones: all of them come back together, in order.
  client.handOn();
  // Destroyed first: unsent commands must not be written to a node that has left.
  client.link.connection?.destroy();
  client.link.disconnect();
}
