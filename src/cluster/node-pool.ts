/**
 * The nodes that are known, by name, and their clients. Opens clients when they are needed and lets
 * go of nodes that the cluster no longer has: what they still owe is waited for a moment, then
 * it goes elsewhere. Knows neither slots nor redirects.
 *
 * A client takes commands until its link ends, and an ending link hands what it holds to the redirector:
 * so a command given to any client that was got here settles or comes back. While the cluster is
 * closed (`seal`) only clients that have ended are given out, so that closing comes to an end.
 */

import { clockMs, startInterval, stopInterval } from "../util/scheduling";
import { ClusterNode, type NodeClient, type NodeRole } from "./cluster-node";
import { type NodeAddress, nodeKey } from "./node-address";

export interface PoolDeps {
  makeClient(node: ClusterNode): NodeClient;
  onClientOpened(node: ClusterNode, client: NodeClient): void;
  onClientClosed(node: ClusterNode, client: NodeClient): void;
  /** The last client is gone. */
  onEmpty(): void;
}

export type RoleFilter = NodeRole | "all";

/** A cluster has at most a thousand nodes; redirects of a hostile one must not fill the memory. */
const MAX_NODES = 4096;
/** Time that a node which left the cluster has to answer what it was sent. */
const FAREWELL_MS = 2000;
const FAREWELL_POLL_MS = 25;

export class NodePool {
  private readonly nodes = new Map<string, ClusterNode>();
  /** Clients that are open or opening, those of nodes that are leaving included. */
  private readonly clients = new Map<NodeClient, ClusterNode>();
  private readonly leaving = new Map<NodeClient, NodeJS.Timeout>();
  /** No connection is opened: the cluster is closed or being closed. */
  isSealed = true;

  /** @param waitsForLost Commands wait at a node that is being redialled; else they go elsewhere. */
  constructor(
    private readonly deps: PoolDeps,
    private readonly waitsForLost: boolean,
  ) {}

  /** Number of open clients. */
  get size(): number {
    return this.clients.size;
  }

  /** All open clients, those of nodes that are leaving included. */
  allClients(): NodeClient[] {
    return [...this.clients.keys()];
  }

  /** Nodes that could not be reached may be tried again. */
  forgetDown(): void {
    for (const node of this.nodes.values()) node.isDown = node.isLost && !this.waitsForLost;
  }

  /** The connection of a node is being dialled again. True if its commands are to go elsewhere. */
  lose(node: ClusterNode): boolean {
    node.isLost = true;
    node.isDown = !this.waitsForLost;
    return node.isDown;
  }

  /** The connection of a node is ready. */
  regain(node: ClusterNode): void {
    node.isLost = false;
    node.isDown = false;
  }

  /** Nodes that are being redialled. */
  lost(): ClusterNode[] {
    return [...this.nodes.values()].filter((node) => node.isLost);
  }

  /** A master that knows better where the slots of `node` are; null if none can be asked. */
  otherMaster(node: ClusterNode): ClusterNode | null {
    const isSound = (one: ClusterNode): boolean =>
      one !== node && !one.isDown && !one.isLost && !one.isDoubted && !one.isUnheard;
    return oneOf(this.list("master").filter(isSound));
  }

  /** The nodes that have a client. */
  list(role: RoleFilter = "all"): ClusterNode[] {
    const wanted = (node: ClusterNode): boolean =>
      node.client !== null && (role === "all" || node.role === role);
    return [...this.nodes.values()].filter(wanted);
  }

  /** The node at an address, made if it is unknown; null when there are too many. */
  at(address: NodeAddress): ClusterNode | null {
    const key = nodeKey(address);
    const known = this.nodes.get(key);
    if (known !== undefined) return known;
    const leaving = this.leavingAt(key);
    if (leaving !== null) return leaving;
    if (this.nodes.size >= MAX_NODES) return null;
    const node = new ClusterNode(address);
    this.nodes.set(key, node);
    return node;
  }

  /** The client of a node; a new one if there is none or it is closing. */
  clientOf(node: ClusterNode): NodeClient {
    const { client } = node;
    return client !== null && !client.link.isLeaving ? client : this.reopen(node);
  }

  /** These are the nodes to begin with. */
  beginWith(addresses: readonly NodeAddress[]): void {
    for (const address of addresses) {
      const node = this.at(address);
      if (node !== null) this.clientOf(node);
    }
  }

  seal(): void {
    this.isSealed = true;
  }

  unseal(): void {
    this.isSealed = false;
  }

  /** Replaces the connection of a node. */
  renew(node: ClusterNode): void {
    node.isRenewed = true;
    this.part(node);
    this.open(node);
  }

  /** A random node of the role; of any role if there is none. */
  sample(role: RoleFilter): ClusterNode | null {
    const up = this.list(role).filter((node) => !node.isDown);
    const sound = up.filter((node) => !node.isLost && !node.isDoubted);
    return oneOf([sound, up, this.list()].find((nodes) => nodes.length > 0) ?? []);
  }

  /** A node owes answers and is silent; false if it is not known. */
  suspect(key: string): boolean {
    const node = this.nodes.get(key);
    node?.suspect();
    return node !== undefined;
  }

  /** From now on exactly these nodes exist. Clients are made at once, connections when needed. */
  setMembers(members: ReadonlyMap<ClusterNode, NodeRole>): void {
    for (const node of [...this.nodes.values()]) if (!members.has(node)) this.remove(node);
    for (const [node, role] of members) {
      this.nodes.set(node.key, node);
      if (node.role !== role) this.changeRole(node, role);
      this.clientOf(node);
    }
  }

  /** Another node names it as a master: whatever the last table says, it is sent to as one. */
  promote(node: ClusterNode): void {
    if (node.role !== "master") this.changeRole(node, "master");
  }

  /** True while a node is silent although it owes answers. */
  get hasSuspect(): boolean {
    for (const node of this.nodes.values()) if (node.isSuspect) return true;
    return false;
  }

  private remove(node: ClusterNode): void {
    this.nodes.delete(node.key);
    // Slots that nobody else is said to serve still lead to it: then it is tried again.
    node.isDown = false;
    node.isLost = false;
    node.shard = null;
    this.part(node);
  }

  private changeRole(node: ClusterNode, role: NodeRole): void {
    node.role = role;
    if (role === "slave") node.shard = null;
    // The commands that a silent former master owes are taken to its successor.
    if (role === "slave" && node.isUnheard) this.part(node);
    node.client?.setReadOnly(role === "slave");
  }

  /** Lets go of the client of a node. */
  private part(node: ClusterNode): void {
    const { client, isUnheard } = node;
    if (client === null) return;
    node.client = null;
    if (isUnheard) retire(client);
    else this.letGo(client);
  }

  /** The link of a client has ended. */
  onEnded(client: NodeClient): void {
    const node = this.clients.get(client);
    if (node === undefined) return;
    this.clients.delete(client);
    stopInterval(this.leaving.get(client));
    this.leaving.delete(client);
    if (node.client === client) {
      node.client = null;
      node.isLost = false;
    }
    if (this.isSealed) this.forgetClosed(node);
    this.deps.onClientClosed(node, client);
    if (this.clients.size === 0) this.deps.onEmpty();
  }

  /** Closes everything. Nodes are forgotten as their connections end: an empty list means that all are closed. */
  clear(): void {
    this.seal();
    for (const client of [...this.clients.keys()]) {
      client.handOn();
      client.link.disconnect();
    }
    for (const timer of this.leaving.values()) stopInterval(timer);
    this.leaving.clear();
    for (const node of [...this.nodes.values()]) this.forgetClosed(node);
  }

  /** A node that a table has left out, and that is named again while it is let go: over the same connection. */
  private leavingAt(key: string): ClusterNode | null {
    const isUsable = ([client, node]: [NodeClient, ClusterNode]): boolean =>
      node.key === key && node.client === null && this.leaving.has(client) && !client.link.isLeaving;
    const found = [...this.clients].findLast(isUsable);
    if (found === undefined) return null;
    const [client, node] = found;
    stopInterval(this.leaving.get(client));
    this.leaving.delete(client);
    node.client = client;
    this.nodes.set(key, node);
    return node;
  }

  /** A new client of a node that may have left: one that is sent to is known, or nobody would let go of it. */
  private reopen(node: ClusterNode): NodeClient {
    const known = this.nodes.get(node.key) ?? this.leavingAt(node.key) ?? node;
    if (known !== node) return this.clientOf(known);
    if (node.client !== null && !node.client.link.isLeaving) return node.client;
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
    this.deps.onClientOpened(node, client);
    return client;
  }

  private forgetClosed(node: ClusterNode): void {
    node.isDown = false;
    if (node.client === null && this.nodes.get(node.key) === node) this.nodes.delete(node.key);
  }

  /** Disconnects once everything is answered, or when the node has had its time. */
  private letGo(client: NodeClient): void {
    if (client.isIdle) {
      client.link.disconnect();
      return;
    }
    const deadlineMs = clockMs() + FAREWELL_MS;
    const check = (): void => {
      if (client.isIdle) client.link.disconnect();
      else if (clockMs() >= deadlineMs) retire(client);
      else return;
      stopInterval(this.leaving.get(client));
      this.leaving.delete(client);
    };
    this.leaving.set(client, startInterval(check, FAREWELL_POLL_MS));
  }
}

function oneOf(nodes: readonly ClusterNode[]): ClusterNode | null {
  return nodes[Math.floor(Math.random() * nodes.length)] ?? null;
}

/** Closes at once; what is unanswered goes elsewhere. */
function retire(client: NodeClient): void {
  // In front of what was gathered is what is unanswered: all of it comes back in one piece.
  client.handOn();
  // Destroyed first: what is unsent must not be written to a node that has left.
  client.destroy();
  client.link.disconnect();
}
