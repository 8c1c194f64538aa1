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

/** One connection, between the socket of the client and the peer. */
export class Wire {
  isCut = false;
  private peer: Peer | null = null;
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
    this.network.wires.delete(this);
    this.peer?.onEnd();
    if (this.socket.destroyed) return;
    if (!isReset) this.socket.push(null);
    else this.socket.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
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
      if (!this.isCut) work();
    });
  }
}

export class VirtualSocket extends Duplex {
  connecting = true;
  readonly wire: Wire;

  constructor(network: Network) {
    super({ allowHalfOpen: true });
    this.wire = new Wire(this, network);
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

export class Network {
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
    const socket = new VirtualSocket(this);
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
