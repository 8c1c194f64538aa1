/**
 * A scripted managed database behind several addresses, which moves between them: notices with their numbers, windows,
 * and the end of the former connections. All addresses have the same keys, so a command that runs twice is counted
 * twice.
 */

import { type FakeConnection, type FakeReply, FakeServer, NO_REPLY, RawReply, status } from "./fake-server";

const HELLO = new RawReply("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n");

interface Peer {
  readonly connection: FakeConnection;
  hasOptedIn: boolean;
  members: string[][] | null;
  /** The key for which BLPOP waits, and the commands behind it. */
  blockedOn: string | null;
  readonly behind: string[][];
  readonly channels: Set<string>;
  readonly watched: Map<string, number>;
}

/** A part of a notice. */
type Part = number | string | null | readonly Part[];

function encodePart(part: Part): string {
  if (part === null) return "_\r\n";
  if (typeof part === "number") return `:${part}\r\n`;
  if (typeof part === "string") return `$${part.length}\r\n${part}\r\n`;
  return `*${part.length}\r\n${part.map(encodePart).join("")}`;
}

/** The keys of the database, and who waits for them. */
class Data {
  readonly counters = new Map<string, number>();
  readonly lists = new Map<string, string[]>();
  readonly endpoints: Endpoint[] = [];

  publish(channel: string, text: string): number {
    const bulk = (part: string): string => `$${Buffer.byteLength(part)}\r\n${part}\r\n`;
    const message = `>3\r\n${["message", channel, text].map(bulk).join("")}`;
    let count = 0;
    for (const endpoint of this.endpoints) {
      for (const peer of endpoint.peers) {
        if (!peer.channels.has(channel)) continue;
        endpoint.write(peer, message);
        count++;
      }
    }
    return count;
  }

  /** Gives elements to those who wait, in order. */
  serve(key: string): void {
    const list = this.lists.get(key) ?? [];
    for (const endpoint of this.endpoints) {
      for (const peer of endpoint.peers)
        if (peer.blockedOn === key && list.length > 0) endpoint.unblock(peer, list.shift() as string);
    }
  }
}

/** One address. */
export class Endpoint {
  readonly received: string[][] = [];
  /** Handshakes of all connections. */
  connections = 0;
  private readonly known = new Map<FakeConnection, Peer>();
  private server!: FakeServer;
  /** Delays all replies and messages. */
  delayMs = 0;
  /** Refuses CLIENT MAINT_NOTIFICATIONS. */
  knowsNotices = true;
  /** Refuses SUBSCRIBE. */
  forbidsChannels = false;
  /** Answers CLUSTER SLOTS. */
  table: FakeReply = [];
  /** The names of commands that wait for `letGo()`. */
  readonly held = new Set<string>();
  private waiting: (() => void)[] = [];

  private constructor(private readonly data: Data) {}

  static async start(data: Data): Promise<Endpoint> {
    const endpoint = new Endpoint(data);
    endpoint.server = await FakeServer.start((words, connection) => endpoint.take(words, connection));
    data.endpoints.push(endpoint);
    return endpoint;
  }

  get port(): number {
    return this.server.port;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get peers(): Peer[] {
    return [...this.known.values()].filter(({ connection }) => !connection.socket.destroyed);
  }

  get listeners(): number {
    return this.peers.filter(({ hasOptedIn }) => hasOptedIn).length;
  }

  /** Writes a notice to all connections that asked for them. */
  announce(kind: string, seq: number, ...rest: readonly Part[]): void {
    const parts = [seq, ...rest].map(encodePart);
    const push = `>${parts.length + 1}\r\n$${kind.length}\r\n${kind}\r\n${parts.join("")}`;
    for (const { hasOptedIn, connection } of this.peers) if (hasOptedIn) connection.socket.write(push);
  }

  /** Runs the commands that wait. */
  letGo(): void {
    this.held.clear();
    const { waiting } = this;
    this.waiting = [];
    for (const perform of waiting) perform();
  }

  close(): void {
    this.server.dropConnections();
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  unblock(peer: Peer, element: string): void {
    const key = peer.blockedOn as string;
    peer.blockedOn = null;
    this.reply(peer, [key, element]);
    while (peer.blockedOn === null && peer.behind.length > 0)
      this.perform(peer.behind.shift() as string[], peer);
  }

  private take(words: string[], connection: FakeConnection): FakeReply {
    let peer = this.known.get(connection);
    if (peer === undefined) {
      peer = {
        connection,
        hasOptedIn: false,
        members: null,
        blockedOn: null,
        behind: [],
        channels: new Set(),
        watched: new Map(),
      };
      this.known.set(connection, peer);
    }
    this.received.push(words);
    if (peer.blockedOn === null) this.perform(words, peer);
    else peer.behind.push(words);
    return NO_REPLY;
  }

  private perform(words: string[], peer: Peer): void {
    if (this.held.has(words[0]?.toLowerCase() ?? "")) {
      this.waiting.push(() => this.perform(words, peer));
      return;
    }
    const reply = this.run(words, peer);
    if (reply !== NO_REPLY) this.reply(peer, reply);
  }

  private reply(peer: Peer, reply: FakeReply): void {
    this.write(peer, encode(reply));
  }

  write({ connection: { socket } }: Peer, bytes: string | Buffer): void {
    if (this.delayMs === 0) socket.write(bytes);
    else setTimeout(() => socket.destroyed || socket.write(bytes), this.delayMs);
  }

  private run(words: string[], peer: Peer): FakeReply {
    const name = words[0]?.toLowerCase() ?? "";
    const [, key = "", value = ""] = words;
    if (peer.members !== null && name !== "exec") {
      peer.members.push(words);
      return status("QUEUED");
    }
    switch (name) {
      case "hello":
        this.connections++;
        return HELLO;
      case "client":
        return this.client(words, peer);
      case "multi":
        peer.members = [];
        return status("OK");
      case "exec":
        return this.exec(peer);
      case "watch":
        peer.watched.set(key, this.data.counters.get(key) ?? 0);
        return status("OK");
      case "blpop": {
        const element = this.data.lists.get(key)?.shift();
        if (element === undefined) peer.blockedOn = key;
        return element === undefined ? NO_REPLY : [key, element];
      }
      case "rpush": {
        const list = [...(this.data.lists.get(key) ?? []), value];
        this.data.lists.set(key, list);
        setImmediate(() => this.data.serve(key));
        return list.length;
      }
      case "subscribe":
        if (this.forbidsChannels) return new Error("NOPERM no permissions to access a channel");
        for (const channel of words.slice(1)) peer.channels.add(channel);
        return confirmations(words);
      case "unsubscribe":
        for (const channel of words.slice(1)) peer.channels.delete(channel);
        return confirmations(words);
      case "publish":
        return this.data.publish(key, value);
      case "incr":
        return this.increment(key);
      case "cluster":
        return this.table;
      default:
        return status("OK");
    }
  }

  private client([, action = ""]: string[], peer: Peer): FakeReply {
    if (action.toUpperCase() !== "MAINT_NOTIFICATIONS") return status("OK");
    if (!this.knowsNotices) return new Error("ERR unknown subcommand 'MAINT_NOTIFICATIONS'");
    peer.hasOptedIn = true;
    return status("OK");
  }

  private exec(peer: Peer): FakeReply {
    const members = peer.members ?? [];
    const isChanged = [...peer.watched].some(([key, seen]) => (this.data.counters.get(key) ?? 0) !== seen);
    peer.members = null;
    peer.watched.clear();
    return isChanged ? null : members.map(([, key = ""]) => this.increment(key));
  }

  private increment(key: string): number {
    const next = (this.data.counters.get(key) ?? 0) + 1;
    this.data.counters.set(key, next);
    return next;
  }
}

function confirmations([name = "", ...channels]: string[]): RawReply {
  const bulk = (text: string): string => `$${text.length}\r\n${text}\r\n`;
  return new RawReply(
    channels.map((channel) => `>3\r\n${bulk(name.toLowerCase())}${bulk(channel)}:1\r\n`).join(""),
  );
}

/** RESP3 of the values above. */
function encode(reply: FakeReply): string | Buffer {
  if (reply instanceof RawReply) return reply.bytes;
  if (reply instanceof Error) return `-${reply.message}\r\n`;
  if (reply === null) return "_\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  if (reply === NO_REPLY) return "";
  return `*${reply.length}\r\n${reply.map((element) => String(encode(element))).join("")}`;
}

export class ManagedServer {
  private readonly data = new Data();
  private seq = 0;

  /** The address that clients are configured with is the first one. */
  static async start(addresses = 1): Promise<ManagedServer> {
    const server = new ManagedServer();
    for (let index = 0; index < addresses; index++) await server.add();
    return server;
  }

  get endpoints(): readonly Endpoint[] {
    return this.data.endpoints;
  }

  get counters(): ReadonlyMap<string, number> {
    return this.data.counters;
  }

  add(): Promise<Endpoint> {
    return Endpoint.start(this.data);
  }

  publish(channel: string, text: string): number {
    return this.data.publish(channel, text);
  }

  /** The next number of a notice. */
  next(): number {
    return ++this.seq;
  }

  async stop(): Promise<void> {
    await Promise.all(this.data.endpoints.map((endpoint) => endpoint.stop()));
  }
}
