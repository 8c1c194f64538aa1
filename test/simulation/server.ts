/**
 * Servers in memory that speak enough of the protocol for a client to live on them: texts that grow
 * (APPEND), transactions, the handshake, and the redirects of a cluster. All nodes of a cluster share
 * one store, since only who answers for a slot matters here.
 */

import { slotOfKey } from "../../src/command/slot";
import type { Host, Network, Peer, Wire } from "./network";

const OK = "+OK\r\n";

/** What the servers have stored. */
export type Store = Map<string, string>;

export interface ClusterMap {
  readonly addresses: readonly string[];
  /** Address of the node that answers for the slot. */
  ownerOf(slot: number): string;
  /** Address of the node to which the slot is on its way, if it is. */
  importerOf(slot: number): string | null;
  /** Whether the node is a replica of the owner of the slot. */
  isReplicaOf(slot: number, address: string): boolean;
  /** Ranges with their nodes, the master first, as CLUSTER SLOTS tells them. */
  ranges(): readonly (readonly [from: number, to: number, ...addresses: string[]])[];
}

export class SimulatedServer implements Host {
  isUp = true;
  /** Numbers of connections. */
  private nextId = 1;
  private readonly wires = new Set<Wire>();

  constructor(
    readonly address: string,
    readonly store: Store,
    readonly knowsResp3: boolean,
    readonly cluster: ClusterMap | null,
  ) {}

  accept(wire: Wire): Peer {
    this.wires.add(wire);
    return new Session(this, wire, this.nextId++);
  }

  forget(wire: Wire): void {
    this.wires.delete(wire);
  }

  /** All connections end. */
  crash(isReset: boolean): void {
    for (const wire of [...this.wires]) wire.cut(isReset);
  }
}

class Session implements Peer {
  private unread = "";
  private queued: string[][] | null = null;
  private isBroken = false;
  private isAsking = false;
  private isReadonly = false;

  constructor(
    private readonly server: SimulatedServer,
    private readonly wire: Wire,
    private readonly id: number,
  ) {}

  receive(bytes: Buffer): void {
    this.unread += bytes.toString("latin1");
    let replies = "";
    for (let words = this.next(); words !== null; words = this.next()) replies += this.answer(words);
    if (replies !== "") this.wire.toClient(Buffer.from(replies, "latin1"));
  }

  onEnd(): void {
    this.server.forget(this.wire);
  }

  /** The next whole command, or null. */
  private next(): string[] | null {
    let at = 0;
    const readNumber = (): number | null => {
      const end = this.unread.indexOf("\r\n", at);
      if (end < 0) return null;
      const value = Number(this.unread.slice(at + 1, end));
      at = end + 2;
      return value;
    };
    const count = readNumber();
    if (count === null) return null;
    const words: string[] = [];
    for (let i = 0; i < count; i++) {
      const length = readNumber();
      if (length === null || this.unread.length < at + length + 2) return null;
      words.push(this.unread.slice(at, at + length));
      at += length + 2;
    }
    this.unread = this.unread.slice(at);
    return words;
  }

  private answer(words: string[]): string {
    const name = (words[0] ?? "").toLowerCase();
    // Within MULTI it holds until EXEC.
    const isAsking = this.isAsking;
    if (this.queued === null) this.isAsking = name === "asking" || (name === "multi" && isAsking);
    if (name === "multi") {
      this.queued = [];
      this.isBroken = false;
      return OK;
    }
    if (name === "exec") return this.exec();
    if (name === "discard") {
      this.queued = null;
      return OK;
    }
    if (name === "readonly" || name === "readwrite") this.isReadonly = name === "readonly";
    const redirect = this.redirect(name, words[1], isAsking);
    if (redirect !== null) {
      this.isBroken = true;
      return redirect;
    }
    if (this.queued === null) return this.run(name, words);
    this.queued.push(words);
    return "+QUEUED\r\n";
  }

  private exec(): string {
    const { queued, isBroken } = this;
    this.queued = null;
    this.isAsking = false;
    if (queued === null) return "-ERR EXEC without MULTI\r\n";
    if (isBroken) return "-EXECABORT Transaction discarded because of previous errors.\r\n";
    const replies = queued.map((words) => this.run((words[0] ?? "").toLowerCase(), words));
    return `*${replies.length}\r\n${replies.join("")}`;
  }

  /** MOVED or ASK, or null when this node answers for the key. */
  private redirect(name: string, key: string | undefined, isAsking: boolean): string | null {
    const { cluster, address } = this.server;
    if (cluster === null || key === undefined || (name !== "get" && name !== "append")) return null;
    const slot = slotOfKey(key);
    const importer = cluster.importerOf(slot);
    const owner = cluster.ownerOf(slot);
    if (this.isReadonly && name === "get" && cluster.isReplicaOf(slot, address)) return null;
    if (owner === address) return importer === null ? null : `-ASK ${slot} ${importer}\r\n`;
    return importer === address && isAsking ? null : `-MOVED ${slot} ${owner}\r\n`;
  }

  private run(name: string, words: readonly string[]): string {
    const { store } = this.server;
    const [, key = "", value = ""] = words;
    switch (name) {
      case "append": {
        const text = (store.get(key) ?? "") + value;
        store.set(key, text);
        return `:${text.length}\r\n`;
      }
      case "get":
        return bulk(store.get(key) ?? null);
      case "echo":
        return bulk(key);
      case "ping":
        return "+PONG\r\n";
      case "info":
        return bulk("redis_version:7.4.0\r\nloading:0\r\nrole:master\r\n");
      case "cluster":
        return this.answerCluster(key);
      case "hello":
        return this.answerHello(key);
      case "quit":
        this.wire.endFromServer();
        return OK;
      default:
        return /^(?:client|select|asking|readonly|readwrite|auth)$/.test(name)
          ? OK
          : `-ERR unknown command '${name}'\r\n`;
    }
  }

  private answerHello(version: string): string {
    if (!this.server.knowsResp3) return "-ERR unknown command 'hello'\r\n";
    return `%3\r\n+proto\r\n:${version}\r\n+id\r\n:${this.id}\r\n+mode\r\n+standalone\r\n`;
  }

  private answerCluster(what: string): string {
    const { cluster } = this.server;
    if (cluster === null) return "-ERR This instance has cluster support disabled\r\n";
    if (what.toLowerCase() === "info") return bulk("cluster_enabled:1\r\ncluster_state:ok\r\n");
    if (what.toLowerCase() !== "slots") return "-ERR unknown subcommand\r\n";
    const rows = cluster.ranges().map(([from, to, ...addresses]) => {
      const nodes = addresses.map((address) => {
        const [host = "", port] = address.split(":");
        return `*3\r\n${bulk(host)}:${port}\r\n${bulk(address)}`;
      });
      return `*${2 + nodes.length}\r\n:${from}\r\n:${to}\r\n${nodes.join("")}`;
    });
    return `*${rows.length}\r\n${rows.join("")}`;
  }
}

function bulk(text: string | null): string {
  return text === null ? "$-1\r\n" : `$${text.length}\r\n${text}\r\n`;
}

/**
 * A cluster whose slots move one range at a time, and whose shards change their masters. Every node has the same
 * store, so that only who answers for a slot matters.
 */
export class MovingSlots implements ClusterMap {
  private static readonly parts = 12;
  /** The shard of each part. */
  private readonly owners: number[] = [];
  /** Parts whose slots have moved, or begun to. */
  private readonly moved = new Set<number>();
  private importing: { readonly part: number; readonly to: number } | null = null;

  /** @param shards The addresses of each shard, its master first. */
  constructor(readonly shards: string[][]) {
    for (let part = 0; part < MovingSlots.parts; part++) this.owners.push(part % shards.length);
  }

  get addresses(): string[] {
    return this.shards.flat();
  }

  ownerOf(slot: number): string {
    return this.nodesOf(partOf(slot))[0] as string;
  }

  importerOf(slot: number): string | null {
    const { importing } = this;
    return importing?.part === partOf(slot) ? (this.shards[importing.to]?.[0] as string) : null;
  }

  isReplicaOf(slot: number, address: string): boolean {
    return this.nodesOf(partOf(slot)).indexOf(address) > 0;
  }

  ranges(): (readonly [from: number, to: number, ...addresses: string[]])[] {
    return this.owners.map((_, part) => [
      Math.ceil((part * 16384) / MovingSlots.parts),
      Math.ceil(((part + 1) * 16384) / MovingSlots.parts) - 1,
      ...this.nodesOf(part),
    ]);
  }

  hasMoved(slot: number): boolean {
    return this.moved.has(partOf(slot));
  }

  /** Begins to move the slots of a part, or ends the move under way. */
  move(part: number, to: number): void {
    if (this.importing !== null) {
      this.owners[this.importing.part] = this.importing.to;
      this.importing = null;
    } else if (this.owners[part % MovingSlots.parts] !== to) {
      this.importing = { part: part % MovingSlots.parts, to };
      this.moved.add(this.importing.part);
    }
  }

  /** The first replica of a shard becomes its master. */
  failOver(shard: number): void {
    const nodes = this.shards[shard] as string[];
    nodes.push(nodes.shift() as string);
    this.owners.forEach((owner, part) => {
      if (owner === shard) this.moved.add(part);
    });
  }

  private nodesOf(part: number): string[] {
    return this.shards[this.owners[part] as number] as string[];
  }
}

function partOf(slot: number): number {
  return Math.floor((slot * 12) / 16384);
}

export type { Network };
