/**
 * Servers in memory that speak enough of the protocol for a client to live on them: texts that grow
 * (APPEND), lists that are waited for (BLPOP), channels, transactions, the handshake, CLIENT LIST,
 * CLIENT UNBLOCK and CLIENT TRACKING, and the redirects of a cluster.
 */

import { slotOfKey } from "../../src/command/slot";
import type { Host, Network, Peer, Wire } from "./network";
import type { VirtualTime } from "./virtual-time";
import { type Listener, type Waiter, World } from "./world";

const OK = "+OK\r\n";
/** Commands whose first argument is a key, or a channel that has a slot. */
const KEYED = /^(?:get|mget|exists|set|del|append|rpush|blpop|spublish|ssubscribe)$/;
const READS = /^(?:get|mget|exists)$/;

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

/** A call that waits for an element. */
class Blocked implements Waiter {
  private readonly timer: { close(): unknown } | null;

  constructor(
    private readonly world: World,
    private readonly session: Session,
    readonly key: string,
    limitMs: number,
  ) {
    this.timer = limitMs > 0 ? world.time.after(limitMs, () => session.unblock(session.none)) : null;
    world.waiters.add(this);
  }

  take(element: string): void {
    this.session.unblock(`*2\r\n${bulk(this.key)}${bulk(element)}`);
  }

  end(): void {
    this.timer?.close();
    this.world.waiters.delete(this);
  }
}

/** Sentinel waits twice its failover-timeout, minutes by default: https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/ */
const FAILOVER_PAUSE_MS = 5000;
/** An election takes longer than what is on its way to a node: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#replica-election-and-promotion */
const SHARD_PAUSE_MS = 300;

/** A master, its replicas, and the sentinels that tell who is who. */
export class SentinelGroup {
  static readonly groupName = "group";
  /** The messages of sentinels to those who listen to them. */
  readonly news: World;
  private nextFailoverMs = 0;

  /** @param nodes Addresses, the master first. */
  constructor(
    readonly nodes: string[],
    readonly sentinels: readonly string[],
    private readonly time: VirtualTime,
  ) {
    this.news = new World(time);
  }

  get master(): string {
    return this.nodes[0] as string;
  }

  /**
   * Another node becomes the master; the former one refuses writes from now on. Not again for a while: a
   * node that refuses the first half of what is on its way and takes the second half breaks every order.
   */
  failOver(): void {
    const { master, time } = this;
    if (time.nowMs < this.nextFailoverMs) return;
    this.nextFailoverMs = time.nowMs + FAILOVER_PAUSE_MS;
    this.nodes.push(this.nodes.shift() as string);
    const words = [SentinelGroup.groupName, ...master.split(":"), ...this.master.split(":")];
    this.news.publish("message", "+switch-master", words.join(" "));
  }
}

export class SimulatedServer implements Host {
  isUp = true;
  /** Set for the nodes of a group and for its sentinels. */
  group: SentinelGroup | null = null;
  readonly sessions = new Map<number, Session>();
  readonly runId: string;
  /** Numbers of connections. */
  private nextId = 1;
  private readonly wires = new Set<Wire>();

  constructor(
    readonly address: string,
    readonly world: World,
    readonly knowsResp3: boolean,
    readonly cluster: ClusterMap | null,
  ) {
    this.runId = Buffer.from(address).toString("hex").padEnd(40, "0");
  }

  accept(wire: Wire): Peer {
    this.wires.add(wire);
    const session = new Session(this, wire, this.nextId++);
    this.sessions.set(session.id, session);
    return session;
  }

  forget(session: Session): void {
    this.wires.delete(session.wire);
    this.sessions.delete(session.id);
  }

  /** Whether the node hears of what becomes of the key: it has it, or would have it if there were one. */
  holds(key: string): boolean {
    const { cluster, address } = this;
    if (cluster === null) return true;
    const slot = slotOfKey(key);
    const importer = cluster.importerOf(slot);
    if (importer !== null) return importer === address;
    return cluster.ownerOf(slot) === address || cluster.isReplicaOf(slot, address);
  }

  onDemoted(): void {
    for (const session of this.sessions.values()) session.onDemoted();
  }

  /** Slots have other owners: who waits or listens here for what is elsewhere is told so. */
  onMoved(): void {
    for (const session of this.sessions.values()) session.onMoved();
  }

  /** All connections end. */
  crash(isReset: boolean): void {
    for (const wire of [...this.wires]) wire.cut(isReset);
  }
}

class Session implements Peer, Listener {
  readonly channels = new Set<string>();
  readonly shardChannels = new Set<string>();
  private protocol = 2;
  private readonly bornMs: number;
  private activeMs: number;
  private lastWord = "NULL";
  private blocked: Blocked | null = null;
  private unread = "";
  private queued: string[][] | null = null;
  private isBroken = false;
  private isAsking = false;
  private isReadonly = false;
  private tracking: "optin" | "all" | "bcast" | null = null;
  /** The next command is one whose keys are remembered. */
  private isCaching = false;
  /** The keys of the command under way are remembered. */
  private isTold = false;
  /** Keys that the client is told of once, and whether the node had them when it was asked. */
  private readonly tracked = new Map<string, boolean>();
  /** Said behind the reply of the command under way. */
  private behind = "";
  private isServing = false;

  constructor(
    private readonly server: SimulatedServer,
    readonly wire: Wire,
    readonly id: number,
  ) {
    this.bornMs = this.activeMs = server.world.time.nowMs;
    server.world.listeners.add(this);
  }

  receive(bytes: Buffer): void {
    this.unread += bytes.toString("latin1");
    this.activeMs = this.server.world.time.nowMs;
    this.serve();
  }

  onEnd(): void {
    this.blocked?.end();
    this.blocked = null;
    this.server.world.listeners.delete(this);
    this.server.forget(this);
  }

  /** As CLIENT LIST shows it. */
  get row(): string {
    const { nowMs } = this.server.world.time;
    const seconds = (sinceMs: number): number => Math.floor((nowMs - sinceMs) / 1000);
    const { localAddress, localPort } = this.wire.socket;
    const times = `age=${seconds(this.bornMs)} idle=${seconds(this.activeMs)}`;
    const flags = this.blocked === null ? "N" : "b";
    return `id=${this.id} addr=${localAddress}:${localPort} ${times} flags=${flags} qbuf=0 cmd=${this.lastWord}`;
  }

  hear(kind: "message" | "smessage", channel: string, message: string): void {
    this.say(this.push([kind, channel, message]));
  }

  hearChange(key: string | null): void {
    if (this.tracking === null) return;
    if (key === null) {
      this.tracked.clear();
      this.invalidate("_\r\n");
    } else if (this.server.holds(key) && (this.tracked.delete(key) || this.tracking === "bcast"))
      this.invalidate(`*1\r\n${bulk(key)}`);
  }

  private invalidate(keys: string): void {
    const push = `>2\r\n${bulk("invalidate")}${keys}`;
    if (this.isServing) this.behind += push;
    else this.say(push);
  }

  /** Keys that leave or come are told of; servers say nothing of those that are missing. */
  private tellOfMoved(): void {
    const { server, tracking, tracked } = this;
    if (tracking === null) return;
    for (const [key, had] of tracked) {
      const has = server.holds(key);
      if (has === had) continue;
      tracked.set(key, has);
      if (!server.world.texts.has(key)) continue;
      tracked.delete(key);
      this.invalidate(`*1\r\n${bulk(key)}`);
    }
  }

  /** The node has become a replica: nothing is handed out here any more. */
  onDemoted(): void {
    if (this.blocked !== null)
      this.unblock("-UNBLOCKED force unblock from blocking operation, instance state changed\r\n");
  }

  onMoved(): void {
    this.tellOfMoved();
    const { blocked } = this;
    const redirect = blocked === null ? null : this.redirect("blpop", blocked.key, false);
    if (redirect?.startsWith("-MOVED")) this.unblock(redirect);
    for (const channel of [...this.shardChannels]) {
      if (this.redirect("ssubscribe", channel, false) === null) continue;
      this.shardChannels.delete(channel);
      this.say(this.confirm("sunsubscribe", channel, this.shardChannels.size));
    }
  }

  /** Ends the waiting with a reply, and goes on with what came meanwhile. */
  unblock(reply: string): void {
    this.blocked?.end();
    this.blocked = null;
    this.say(reply);
    this.serve();
  }

  get isBlocked(): boolean {
    return this.blocked !== null;
  }

  get none(): string {
    return this.protocol === 3 ? "_\r\n" : "*-1\r\n";
  }

  private serve(): void {
    let replies = "";
    this.isServing = true;
    while (this.blocked === null) {
      const words = this.next();
      if (words === null) break;
      replies += this.answer(words) + this.behind;
      this.behind = "";
    }
    this.isServing = false;
    this.say(replies);
  }

  private say(replies: string): void {
    if (replies !== "") this.wire.toClient(Buffer.from(replies, "latin1"));
  }

  /** Something that no reply belongs to. */
  private push(words: readonly string[]): string {
    return `${this.protocol === 3 ? ">" : "*"}${words.length}\r\n${words.map(bulk).join("")}`;
  }

  private confirm(word: string, channel: string | null, count: number): string {
    return `${this.protocol === 3 ? ">" : "*"}3\r\n${bulk(word)}${bulk(channel)}:${count}\r\n`;
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
    this.lastWord = name;
    // Within MULTI it holds until EXEC.
    const isAsking = this.isAsking;
    if (this.queued === null) this.isAsking = name === "asking" || (name === "multi" && isAsking);
    this.isTold = this.isCaching || this.tracking === "all";
    this.isCaching = false;
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
    const redirect = this.readonlyError(name) ?? this.redirect(name, words[1], isAsking);
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
    const replies = queued.map((words) => this.run((words[0] ?? "").toLowerCase(), words, true));
    return `*${replies.length}\r\n${replies.join("")}`;
  }

  private get role(): string {
    const { group, address } = this.server;
    if (group === null || group.master === address) return "master";
    return group.nodes.includes(address) ? "slave" : "sentinel";
  }

  private readonlyError(name: string): string | null {
    const isWrite = name === "append" || name === "rpush" || name === "blpop";
    return isWrite && this.role === "slave"
      ? "-READONLY You can't write against a read only replica.\r\n"
      : null;
  }

  private answerSentinel([, word = ""]: readonly string[]): string {
    const { group, address } = this.server;
    if (group === null) return "-ERR unknown command 'sentinel'\r\n";
    if (word.toLowerCase() === "get-master-addr-by-name") {
      const [host = "", port = ""] = group.master.split(":");
      return `*2\r\n${bulk(host)}${bulk(port)}`;
    }
    const others = group.sentinels.filter((one) => one !== address).map((one) => one.split(":"));
    const rows = others.map(([ip = "", port = ""]) => `*4\r\n${["ip", ip, "port", port].map(bulk).join("")}`);
    return `*${rows.length}\r\n${rows.join("")}`;
  }

  /** MOVED or ASK, or null when this node answers for the key. */
  private redirect(name: string, key: string | undefined, isAsking: boolean): string | null {
    const { cluster, address } = this.server;
    if (cluster === null || key === undefined || !KEYED.test(name)) return null;
    const slot = slotOfKey(key);
    const importer = cluster.importerOf(slot);
    const owner = cluster.ownerOf(slot);
    if (
      ((this.isReadonly && READS.test(name)) || name === "ssubscribe") &&
      cluster.isReplicaOf(slot, address)
    )
      return null;
    // Channels are served by the owner until the slot is handed over.
    if (owner === address && /^s(?:publish|subscribe)$/.test(name)) return null;
    if (owner === address) return importer === null ? null : `-ASK ${slot} ${importer}\r\n`;
    return importer === address && isAsking ? null : `-MOVED ${slot} ${owner}\r\n`;
  }

  private run(name: string, words: readonly string[], isInTransaction = false): string {
    const { world, runId } = this.server;
    const [, key = "", value = ""] = words;
    switch (name) {
      case "append": {
        const text = (world.texts.get(key) ?? "") + value;
        world.write(key, text);
        return `:${text.length}\r\n`;
      }
      case "set":
        world.write(key, value);
        return OK;
      case "del": {
        const count = world.texts.has(key) ? 1 : 0;
        world.write(key, null);
        return `:${count}\r\n`;
      }
      case "get":
        this.remember([key]);
        return bulk(this.textOf(key));
      case "exists":
        this.remember([key]);
        return `:${this.textOf(key) === null ? 0 : 1}\r\n`;
      case "mget": {
        const keys = words.slice(1);
        this.remember(keys);
        return `*${keys.length}\r\n${keys.map((one) => bulk(this.textOf(one))).join("")}`;
      }
      case "rpush":
        return `:${world.push(key, value)}\r\n`;
      case "blpop":
        return this.popOrWait(key, isInTransaction ? -1 : Number(value) * 1000);
      case "publish":
      case "spublish":
        return `:${world.publish(name === "publish" ? "message" : "smessage", key, value)}\r\n`;
      case "echo":
        return bulk(key);
      case "ping":
        return this.isSubscriber ? `*2\r\n${bulk("pong")}${bulk("")}` : "+PONG\r\n";
      case "info":
        return bulk(`redis_version:7.4.0\r\nrun_id:${runId}\r\nloading:0\r\nrole:${this.role}\r\n`);
      case "quit":
        this.wire.endFromServer();
        return OK;
      default:
        return this.runOther(name, words);
    }
  }

  private runOther(name: string, words: readonly string[]): string {
    const [, first = ""] = words;
    switch (name) {
      case "cluster":
        return this.answerCluster(first);
      case "client":
        return this.answerClient(words);
      case "sentinel":
        return this.answerSentinel(words);
      case "hello":
        return this.answerHello(first);
      case "subscribe":
      case "unsubscribe":
      case "ssubscribe":
      case "sunsubscribe":
        return this.changeSubscriptions(name, words.slice(1));
      default:
        return /^(?:select|asking|readonly|readwrite|auth)$/.test(name)
          ? OK
          : `-ERR unknown command '${name}'\r\n`;
    }
  }

  /** A replica answers for a slot that is being moved, although its keys have left. */
  private textOf(key: string): string | null {
    const { server } = this;
    return this.isReadonly && !server.holds(key) ? null : (server.world.texts.get(key) ?? null);
  }

  private remember(keys: readonly string[]): void {
    if (this.isTold || this.tracking === "bcast")
      for (const key of keys) this.tracked.set(key, this.server.holds(key));
  }

  /** On protocol 2, a connection with subscriptions does nothing else. */
  private get isSubscriber(): boolean {
    return this.protocol === 2 && this.channels.size + this.shardChannels.size > 0;
  }

  private popOrWait(key: string, limitMs: number): string {
    const { world } = this.server;
    const element = world.pop(key);
    if (element !== null) return `*2\r\n${bulk(key)}${bulk(element)}`;
    if (limitMs < 0) return this.none;
    this.blocked = new Blocked(world, this, key, limitMs);
    return "";
  }

  private changeSubscriptions(word: string, named: readonly string[]): string {
    const names = /^s(?:un)?sub/.test(word) && word !== "subscribe" ? this.shardChannels : this.channels;
    const isEntry = !word.includes("unsub");
    const concerned = named.length === 0 ? [...names] : named;
    if (concerned.length === 0) return this.confirm(word, null, 0);
    let replies = "";
    for (const name of concerned) {
      if (isEntry) names.add(name);
      else names.delete(name);
      replies += this.confirm(word, name, names.size);
    }
    return replies;
  }

  private answerClient([, word = "", first = "", ...rest]: readonly string[]): string {
    const { sessions } = this.server;
    switch (word.toLowerCase()) {
      case "id":
        return `:${this.id}\r\n`;
      case "unblock": {
        const session = sessions.get(Number(first));
        if (!session?.isBlocked) return ":0\r\n";
        const isError = rest[0]?.toLowerCase() === "error";
        session.unblock(isError ? "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n" : session.none);
        return ":1\r\n";
      }
      case "list": {
        const wanted = first.toLowerCase() === "id" ? rest.map(Number) : [...sessions.keys()];
        return bulk(wanted.map((id) => `${sessions.get(id)?.row ?? ""}\n`).join(""));
      }
      case "tracking":
        this.tracking = rest[0] === "optin" || rest[0] === "bcast" ? rest[0] : "all";
        return OK;
      case "caching":
        this.isCaching = true;
        return OK;
      default:
        return OK;
    }
  }

  private answerHello(version: string): string {
    if (!this.server.knowsResp3) return "-ERR unknown command 'hello'\r\n";
    if (version === "3") this.protocol = 3;
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
  /** When each shard may change its master again. */
  private readonly nextFailoverMs: number[] = [];

  /** @param shards The addresses of each shard, its master first. */
  constructor(
    readonly shards: string[][],
    private readonly time: VirtualTime,
  ) {
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

  /** Begins to move the slots of a part, or ends the move under way. Returns the part that is concerned. */
  move(part: number, to: number): number | null {
    const { importing } = this;
    if (importing !== null) {
      this.owners[importing.part] = importing.to;
      this.importing = null;
      return importing.part;
    }
    const wanted = part % MovingSlots.parts;
    if (this.owners[wanted] === to) return null;
    this.importing = { part: wanted, to };
    this.moved.add(wanted);
    return wanted;
  }

  /** The first replica of a shard becomes its master, not again for a while, as in a `SentinelGroup`. */
  failOver(shard: number): void {
    const { nowMs } = this.time;
    if (nowMs < (this.nextFailoverMs[shard] ?? 0)) return;
    this.nextFailoverMs[shard] = nowMs + SHARD_PAUSE_MS;
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

/** Slots move in so many parts. */
export function partOf(slot: number): number {
  return Math.floor((slot * 12) / 16384);
}

export type { Network };
