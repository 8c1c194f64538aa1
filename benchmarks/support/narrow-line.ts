/**
 * A TCP proxy whose way back is a line that takes so many bytes a second; run as a process of its own.
 *
 *   node narrow-line.js <server host> <server port> <megabytes a second> <round trip in ms>
 *
 * It prints its port and ends when stdin closes.
 *
 * All connections share the line and are served by turns, 16 KiB at a time, as flows share a real one. What a server
 * has written beyond a quarter of a mebibyte waits in its socket. Replies are held back by the round trip, which to a
 * client is the same as half of it in each direction.
 */

import net from "node:net";

const TURN_BYTES = 16 * 1024;
const MOST_HELD_BYTES = 256 * 1024;
/** What the line may catch up with, after its process was not run for a while. */
const LONGEST_CATCH_UP_MS = 1;

interface Flow {
  readonly from: net.Socket;
  readonly to: net.Socket;
  readonly parts: Buffer[];
  heldBytes: number;
}

/** What has left the line and is on its way. */
interface Parcel {
  readonly dueMs: number;
  readonly to: net.Socket;
  readonly part: Buffer;
}

class NarrowLine {
  private readonly underWay: Parcel[] = [];
  private waiting: Flow[] = [];
  private freeAtMs = 0;
  private isBooked = false;

  constructor(
    private readonly bytesPerMs: number,
    private readonly roundTripMs: number,
  ) {}

  carry(flow: Flow, bytes: Buffer): void {
    if (flow.heldBytes === 0) this.waiting.push(flow);
    for (let at = 0; at < bytes.length; at += TURN_BYTES)
      flow.parts.push(bytes.subarray(at, at + TURN_BYTES));
    flow.heldBytes += bytes.length;
    if (flow.heldBytes >= MOST_HELD_BYTES) flow.from.pause();
    this.book();
  }

  private book(): void {
    if (this.isBooked || this.waiting.length + this.underWay.length === 0) return;
    this.isBooked = true;
    setImmediate(this.deliver);
  }

  private readonly deliver = (): void => {
    this.isBooked = false;
    const nowMs = performance.now();
    this.freeAtMs = Math.max(this.freeAtMs, nowMs - LONGEST_CATCH_UP_MS);
    while (this.freeAtMs <= nowMs) {
      const flow = this.waiting.shift();
      const part = flow?.parts.shift();
      if (flow === undefined || part === undefined) break;
      this.freeAtMs += part.length / this.bytesPerMs;
      this.underWay.push({ dueMs: nowMs + this.roundTripMs, to: flow.to, part });
      flow.heldBytes -= part.length;
      if (flow.heldBytes > 0) this.waiting.push(flow);
      if (flow.heldBytes < MOST_HELD_BYTES) flow.from.resume();
    }
    this.arrive(nowMs);
    this.book();
  };

  private arrive(nowMs: number): void {
    const later = this.underWay.findIndex(({ dueMs }) => dueMs > nowMs);
    for (const { to, part } of this.underWay.splice(0, later < 0 ? this.underWay.length : later)) {
      if (to.writable) to.write(part);
    }
  }
}

function serve(host: string, port: number, line: NarrowLine): void {
  const server = net.createServer({ noDelay: true }, (client) => {
    const upstream = net.connect({ host, port, noDelay: true });
    const flow: Flow = { from: upstream, to: client, parts: [], heldBytes: 0 };
    client.pipe(upstream);
    upstream.on("data", (bytes) => line.carry(flow, bytes));
    upstream.on("close", () => client.destroy());
    for (const socket of [client, upstream]) socket.on("error", () => upstream.destroy());
  });
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as net.AddressInfo).port}\n`);
  });
  process.stdin.resume();
  process.stdin.on("close", () => process.exit(0));
}

const [host, port, megabytesPerSecond, roundTripMs] = process.argv.slice(2);
serve(host as string, Number(port), new NarrowLine(Number(megabytesPerSecond) * 1000, Number(roundTripMs)));
