/**
 * A network in memory: sockets are streams of Node, bytes take their time and arrive in pieces,
 * connections are refused, cut with and without what was on its way, and held up. The other end of
 * a socket is given by the address.
 */

import { Duplex } from "node:stream";
import type { Random } from "./random";
import type { VirtualTime } from "./virtual-time";

/** The server's end of a connection. */
export interface Peer {
  /** Bytes have arrived. */
  receive(bytes: Buffer): void;
  /** The connection is gone, or the client has ended its side. */
  onEnd(): void;
}

export interface Host {
  readonly isUp: boolean;
  accept(connection: Wire): Peer;
}

export interface NetworkRules {
  /** Longest way of a piece. */
  readonly latencyMs: number;
  /** Chance that bytes arrive in several pieces. */
  readonly splitChance: number;
}

/** After that long without a sign of life TCP gives a connection up. */
const TCP_LIMIT_MS = 600_000;

/** One connection, between the socket of the client and the peer. */
export class Wire {
  isCut = false;
  /** Nothing passes any more, and no end has been told. */
  private isStuck = false;
  private timer: { close(): unknown } | null = null;
  private peer: Peer | null = null;
  /** Is told when a connection that was stuck is over. */
  private onOver: () => void = () => {};
  private readonly nextAtMs = { up: 0, down: 0 };

  constructor(
    readonly socket: VirtualSocket,
    private readonly network: Network,
  ) {}

  open(host: Host): void {
    if (this.isCut) return;
    this.peer = host.accept(this);
    this.socket.open();
  }

  /** From the client. */
  toServer(bytes: Buffer): void {
    this.carry("up", bytes, (piece) => this.peer?.receive(piece));
  }

  toClient(bytes: Buffer): void {
    this.carry("down", bytes, (piece) => {
      if (!this.socket.destroyed) this.socket.push(piece);
    });
  }

  /** The client has half-closed: the server hears of it behind all bytes. */
  endFromClient(): void {
    this.later("up", () => {
      this.peer?.onEnd();
      this.endFromServer();
    });
  }

  endFromServer(): void {
    this.later("down", () => {
      if (!this.socket.destroyed) this.socket.push(null);
    });
  }

  /** Nothing on its way arrives any more. */
  cut(isReset: boolean): void {
    if (this.isCut) return;
    this.isCut = true;
    this.timer?.close();
    this.onOver();
    this.network.wires.delete(this);
    this.peer?.onEnd();
    if (this.socket.destroyed) return;
    if (!isReset) this.socket.push(null);
    else this.socket.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
  }

  /** Nothing arrives any more, and nobody is told: a cable, a firewall that has forgotten the connection. False if that is so already. */
  stick(onOver: () => void): boolean {
    if (this.isCut || this.isStuck) return false;
    this.isStuck = true;
    this.onOver = onOver;
    this.timer = this.network.time.after(TCP_LIMIT_MS, () => this.cut(true));
    return true;
  }

  private carry(way: "up" | "down", bytes: Buffer, deliver: (piece: Buffer) => void): void {
    const { random, rules } = this.network;
    const isSplit = bytes.length > 1 && random.next() < rules.splitChance;
    const at = isSplit ? 1 + random.below(bytes.length - 1) : bytes.length;
    this.later(way, () => deliver(bytes.subarray(0, at)));
    if (at < bytes.length) this.later(way, () => deliver(bytes.subarray(at)));
  }

  /** In the order of the calls. */
  private later(way: "up" | "down", work: () => void): void {
    const { time, random, rules, heldUntilMs } = this.network;
    const arrivesAt = Math.max(time.nowMs + 1 + random.below(rules.latencyMs), heldUntilMs);
    this.nextAtMs[way] = Math.max(arrivesAt, this.nextAtMs[way]);
    time.after(this.nextAtMs[way] - time.nowMs, () => {
      if (!this.isCut && !this.isStuck) work();
    });
  }
}

export class VirtualSocket extends Duplex {
  connecting = true;
  readonly wire: Wire;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress = "10.9.0.1";
  readonly localPort: number;

  constructor(network: Network, address: string, localPort: number) {
    super({ allowHalfOpen: true });
    this.wire = new Wire(this, network);
    this.remoteAddress = address.slice(0, address.lastIndexOf(":"));
    this.remotePort = Number(address.slice(address.lastIndexOf(":") + 1));
    this.localPort = localPort;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  open(): void {
    if (this.destroyed) return;
    this.connecting = false;
    this.emit("connect");
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error) => void): void {
    // The memory belongs to the writer again once the callback has run.
    this.wire.toServer(Buffer.from(chunk));
    callback();
  }

  override _final(callback: () => void): void {
    this.wire.endFromClient();
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.wire.cut(true);
    callback(error);
  }
}

/** The function behind `net.createConnection`. */
export const present: { network: Network | null } = { network: null };

/** Takes the place of `net.createConnection`, for everything that is dialled from now on. */
export function installNetwork(): void {
  const net = require("node:net") as { createConnection: unknown };
  net.createConnection = ({ host, port }: { host: string; port: number }) =>
    present.network?.dial(`${host}:${port}`);
}

export class Network {
  private nextPort = 40_000;
  readonly wires = new Set<Wire>();
  readonly hosts = new Map<string, Host>();
  /** Nothing arrives before. */
  heldUntilMs = 0;

  constructor(
    readonly time: VirtualTime,
    readonly random: Random,
    readonly rules: NetworkRules,
  ) {}

  dial(address: string): VirtualSocket {
    const socket = new VirtualSocket(this, address, this.nextPort++);
    const { wire } = socket;
    this.wires.add(wire);
    this.time.after(1 + this.random.below(this.rules.latencyMs), () => {
      const host = this.hosts.get(address);
      if (socket.destroyed) return;
      if (host?.isUp) wire.open(host);
      else
        socket.destroy(Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: "ECONNREFUSED" }));
    });
    return socket;
  }

  /** One of the connections that there are. */
  pick(): Wire | undefined {
    return [...this.wires][this.random.below(this.wires.size)];
  }
}
