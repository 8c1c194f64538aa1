/**
 * A TCP proxy that simulates network faults: cuts a connection after a given byte, slows it down, forwards
 * bytes in small pieces, falls silent without closing, stops reading. Rules apply to later connections and,
 * except `cutAfter`, immediately to existing ones. It records the traffic, so that tests can count the writes
 * of a client.
 */

import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from "node:net";

import Denque from "denque";
import { checkOptions, checkTarget } from "../check-options";
import { type RecordedCommand, WireRecord } from "./wire-record";

/** The direction of the bytes. */
export const Direction = { ToServer: "toServer", ToClient: "toClient" } as const;
export type Direction = (typeof Direction)[keyof typeof Direction];

/** `reset`: RST, the peer sees ECONNRESET. `end`: FIN, the peer sees an ordinary end. */
export type CutStyle = "reset" | "end";

export interface CutRule {
  readonly direction: Direction;
  /** The cut happens when exactly this many bytes of a connection went this way. */
  readonly bytes: number;
  readonly style?: CutStyle;
  /** How many connections are cut; all that follow are left alone. Default: 1. */
  readonly times?: number;
}

export interface LaneCounters {
  bytes: number;
  /** Pieces as they were read: on loopback nearly one for each write of the sender. */
  chunks: number;
}

/** Changes a piece before it is forwarded. */
export type Corruption = (chunk: Buffer) => Buffer;

interface LaneRules {
  delayMs: number;
  /** 0: no limit. */
  bytesPerSecond: number;
  corruption: Corruption | null;
  /** 0 leaves the pieces as they come. */
  chunkBytes: number;
  isSilent: boolean;
  isStalled: boolean;
}

const NO_RULES: LaneRules = {
  delayMs: 0,
  bytesPerSecond: 0,
  corruption: null,
  chunkBytes: 0,
  isSilent: false,
  isStalled: false,
};
const LAST_BYTES_MS = 5;

/** One direction of one connection. Pieces keep their order with any delay. */
class Lane {
  bytes = 0;
  /** The byte from which a cut is counted. */
  cutBase = 0;
  private isIsolated = false;
  /** When the connection is free again, if its rate is limited. */
  private freeAt = 0;
  /** Pieces that wait for their time, in order: separate timers would overtake each other. */
  private readonly waiting = new Denque<{ readonly at: number; readonly work: () => void }>();
  private timer: NodeJS.Timeout | undefined;
  private awaitsDrain = false;

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly rules: LaneRules,
    private readonly counters: LaneCounters,
  ) {}

  applyStall(): void {
    if (this.rules.isStalled) this.from.pause();
    else this.from.resume();
  }

  /** Forwards a piece, after the delay if there is one. */
  take(chunk: Buffer): void {
    this.counters.bytes += chunk.length;
    this.counters.chunks++;
    this.bytes += chunk.length;
    this.later(() => this.forward(chunk), this.transferMs(chunk.length));
  }

  /** The sender has ended: so does the other side, once all pieces are through. */
  end(): void {
    this.later(() => {
      if (!this.rules.isSilent && !this.isIsolated) this.to.end();
    });
  }

  /** Drops all bytes from now on, regardless of the rules. */
  isolate(): void {
    this.isIsolated = true;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.waiting.clear();
  }

  /** The time that these bytes take at the limited rate. */
  private transferMs(bytes: number): number {
    const { bytesPerSecond } = this.rules;
    if (bytesPerSecond === 0) return 0;
    const now = performance.now();
    this.freeAt = Math.max(now, this.freeAt) + (bytes * 1000) / bytesPerSecond;
    return this.freeAt - now;
  }

  private later(work: () => void, transferMs = 0): void {
    if (this.rules.delayMs === 0 && transferMs === 0 && this.waiting.length === 0) {
      work();
      return;
    }
    this.waiting.push({ at: performance.now() + this.rules.delayMs + transferMs, work });
    if (this.waiting.length === 1) this.wait();
  }

  private wait(): void {
    const first = this.waiting.peekFront();
    if (first === undefined) return;
    this.timer = setTimeout(
      () => {
        const now = performance.now();
        for (let next = this.waiting.peekFront(); next !== undefined; next = this.waiting.peekFront()) {
          if (next.at > now) break;
          next.work();
          this.waiting.shift();
        }
        this.wait();
      },
      Math.max(0, first.at - performance.now()),
    );
  }

  private forward(original: Buffer): void {
    const chunk = this.rules.corruption?.(original) ?? original;
    if (this.rules.isSilent || this.isIsolated || this.to.destroyed) return;
    const step = this.rules.chunkBytes === 0 ? chunk.length : this.rules.chunkBytes;
    for (let start = 0; start < chunk.length; start += step) {
      const mayGoOn = this.to.write(chunk.subarray(start, start + step));
      if (mayGoOn || this.awaitsDrain) continue;
      this.awaitsDrain = true;
      this.from.pause();
      this.to.once("drain", () => {
        this.awaitsDrain = false;
        this.applyStall();
      });
    }
  }
}

class ProxiedConnection {
  readonly lanes: Record<Direction, Lane>;
  private isCut = false;
  private cutTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    proxy: FaultProxy,
  ) {
    this.lanes = {
      toServer: new Lane(client, server, proxy.rules.toServer, proxy.counters.toServer),
      toClient: new Lane(server, client, proxy.rules.toClient, proxy.counters.toClient),
    };
    this.join(client, Direction.ToServer, proxy);
    this.join(server, Direction.ToClient, proxy);
  }

  cut(style: CutStyle): void {
    if (this.isCut) return;
    this.isCut = true;
    clearTimeout(this.cutTimer);
    this.lanes.toServer.dispose();
    this.lanes.toClient.dispose();
    for (const socket of [this.client, this.server]) {
      if (style === "reset") reset(socket);
      else socket.end(() => socket.destroy());
    }
  }

  /** Cuts are counted from here on, or from the start of the connection. */
  countCuts(isFromNow: boolean): void {
    for (const lane of Object.values(this.lanes)) lane.cutBase = isFromNow ? lane.bytes : 0;
  }

  private join(from: Socket, direction: Direction, proxy: FaultProxy): void {
    const lane = this.lanes[direction];
    from.setNoDelay(true);
    from.on("data", (chunk) => {
      if (this.isCut || this.cutTimer !== undefined) return;
      if (direction === Direction.ToServer) proxy.record?.add(this, chunk);
      const passed = lane.bytes - lane.cutBase;
      const cut = proxy.takeCut(direction, passed + chunk.length);
      if (cut === null) {
        lane.take(chunk);
        return;
      }
      lane.take(chunk.subarray(0, Math.max(0, cut.bytes - passed)));
      // The peer must read the last bytes first, because together with a reset it would see an ordinary end.
      // Most peers are in this process: even if the timer is late, they read before the turn has ended.
      const { delayMs } = proxy.rules[direction];
      const cutNow = (): void => this.cut(cut.style ?? "reset");
      this.cutTimer = setTimeout(() => setImmediate(cutNow), delayMs + LAST_BYTES_MS);
    });
    from.on("end", () => lane.end());
    from.on("error", () => this.cut("reset"));
    from.on("close", () => proxy.forget(this));
    lane.applyStall();
  }
}

/** A socket that is just ending cannot be reset: libuv would refuse and Node never close it. */
function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}

export class FaultProxy {
  readonly host = "127.0.0.1";
  readonly counters: Record<Direction, LaneCounters> & { connections: number } = {
    connections: 0,
    toServer: { bytes: 0, chunks: 0 },
    toClient: { bytes: 0, chunks: 0 },
  };
  /** Not for tests: shared with the connections. */
  readonly rules: Record<Direction, LaneRules> = {
    toServer: { ...NO_RULES },
    toClient: { ...NO_RULES },
  };
  /** Not for tests: the bytes towards the server; null if they are not recorded. */
  readonly record: WireRecord | null;
  private cutRule: CutRule | null = null;
  private cutsLeft = 0;
  private mayConnect = true;
  private stallTimer: NodeJS.Timeout | undefined;
  private readonly connections = new Set<ProxiedConnection>();
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private target: NetConnectOpts,
    records: boolean,
  ) {
    this.record = records ? new WireRecord() : null;
  }

  /**
   * Listens on a free port and forwards to the target.
   * @param options `record: false` keeps no `commands` and `writes`: for long runs, whose record grows with each command.
   */
  static async start(
    target: NetConnectOpts,
    options: { readonly record?: boolean } = {},
  ): Promise<FaultProxy> {
    checkTarget("FaultProxy.start()", target);
    checkOptions("FaultProxy.start()", options, ["record"]);
    return new Promise((resolve, reject) => {
      // Half-open is allowed, so that an end travels through instead of being made here.
      const server = createServer({ allowHalfOpen: true, noDelay: true });
      const proxy = new FaultProxy(server, target, options.record !== false);
      server.on("connection", (client) => proxy.accept(client));
      server.once("error", reject);
      server.listen(0, proxy.host, () => resolve(proxy));
    });
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  get openConnections(): number {
    return this.connections.size;
  }

  /** Later connections go to another server. */
  retarget(target: NetConnectOpts): void {
    this.target = target;
  }

  /** The commands that were sent, in the order in which they came. */
  get commands(): readonly RecordedCommand[] {
    return this.record?.commands ?? [];
  }

  /** The commands by pieces as they were read: those in one list shared a write. */
  get writes(): readonly (readonly RecordedCommand[])[] {
    return this.record?.writes ?? [];
  }

  /**
   * Cuts the first connection of which so many more bytes have gone one way: from now on, or from its start if it
   * is opened later.
   */
  cut({ afterBytes, direction = Direction.ToClient }: { afterBytes: number; direction?: Direction }): void {
    this.cutNext({ bytes: afterBytes, direction }, true);
  }

  /** The peer disappears without notice: all bytes are dropped, and no socket is closed. */
  halfOpen(): void {
    this.fallSilent();
  }

  /** Hands bytes over in pieces of this size. */
  chunk(bytes: number): void {
    this.rechunk(bytes);
  }

  /** Changes forwarded bytes; null ends it. */
  corrupt(corruption: Corruption | null, direction: Direction = Direction.ToClient): void {
    this.rules[direction].corruption = corruption;
  }

  /** So many bytes a second, each way; 0 ends it. */
  limitRate(bytesPerSecond: number): void {
    for (const rules of this.rulesOf()) rules.bytesPerSecond = bytesPerSecond;
  }

  /** Cuts the next connection (or as many as `times` says) after a number of bytes, counted from its start. */
  cutAfter(rule: CutRule): void {
    this.cutNext(rule, false);
  }

  /** Cuts all connections now. */
  cutAll(style: CutStyle = "reset"): void {
    for (const connection of [...this.connections]) connection.cut(style);
  }

  /** Every piece is held for this long, in one direction or both. */
  delay(milliseconds: number, direction?: Direction): void {
    for (const rules of this.rulesOf(direction)) rules.delayMs = milliseconds;
  }

  /** Hands bytes over in pieces of this size; 0 ends it. */
  rechunk(bytes: number, direction?: Direction): void {
    for (const rules of this.rulesOf(direction)) rules.chunkBytes = bytes;
  }

  /** Drops all bytes and closes no socket: a peer that disappeared without notice. */
  fallSilent(direction?: Direction): void {
    for (const rules of this.rulesOf(direction)) rules.isSilent = true;
  }

  /** The present connections swallow everything, in one direction or both; later ones work. */
  isolate(direction?: Direction): void {
    for (const { lanes } of this.connections) {
      if (direction !== Direction.ToClient) lanes.toServer.isolate();
      if (direction !== Direction.ToServer) lanes.toClient.isolate();
    }
  }

  /**
   * Stops reading, so that writes pile up and nothing is lost: of both sides for so many milliseconds, or of the one
   * that sends in this direction until `heal`.
   */
  stall(what: number | Direction): void {
    const directions = typeof what === "string" ? [what] : Object.values(Direction);
    this.holdBack(directions, true);
    if (typeof what === "string") return;
    clearTimeout(this.stallTimer);
    this.stallTimer = setTimeout(() => this.holdBack(directions, false), what);
  }

  private holdBack(directions: readonly Direction[], isStalled: boolean): void {
    for (const direction of directions) {
      this.rules[direction].isStalled = isStalled;
      for (const connection of this.connections) connection.lanes[direction].applyStall();
    }
  }

  /** New connections are reset immediately. */
  refuse(): void {
    this.mayConnect = false;
  }

  /** Ends all rules. Dropped bytes stay lost. */
  heal(): void {
    this.mayConnect = true;
    clearTimeout(this.stallTimer);
    this.cutRule = null;
    for (const rules of this.rulesOf()) {
      Object.assign(rules, NO_RULES);
    }
    for (const { lanes } of this.connections) {
      lanes.toServer.applyStall();
      lanes.toClient.applyStall();
    }
  }

  resetCounters(): void {
    this.record?.clear();
    this.counters.connections = 0;
    for (const direction of Object.values(Direction)) {
      Object.assign(this.counters[direction], { bytes: 0, chunks: 0 });
    }
  }

  /** Cuts the open connections and stops listening. */
  async stop(): Promise<void> {
    clearTimeout(this.stallTimer);
    this.cutAll("reset");
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  /** Not for tests: the rule that ends a connection at or before this many bytes, used up by asking. */
  takeCut(direction: Direction, bytes: number): CutRule | null {
    const rule = this.cutRule;
    if (rule === null || this.cutsLeft === 0 || rule.direction !== direction || bytes < rule.bytes)
      return null;
    this.cutsLeft--;
    return rule;
  }

  /** Not for tests: a connection is over. */
  forget(connection: ProxiedConnection): void {
    this.connections.delete(connection);
  }

  private cutNext(rule: CutRule, isFromNow: boolean): void {
    this.cutRule = rule;
    this.cutsLeft = rule.times ?? 1;
    for (const connection of this.connections) connection.countCuts(isFromNow);
  }

  private accept(client: Socket): void {
    this.counters.connections++;
    this.track(client);
    if (!this.mayConnect) {
      client.on("error", () => {});
      client.resetAndDestroy();
      return;
    }
    const server = connect({ ...this.target, allowHalfOpen: true } as NetConnectOpts);
    this.track(server);
    this.connections.add(new ProxiedConnection(client, server, this));
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.once("close", () => this.sockets.delete(socket));
  }

  private rulesOf(direction?: Direction): LaneRules[] {
    return direction === undefined ? [this.rules.toServer, this.rules.toClient] : [this.rules[direction]];
  }
}
