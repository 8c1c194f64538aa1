/**
 * A TCP proxy that delays every byte by half of a round trip in each direction. Runs in a separate process.
 *
 *   node delay-proxy.js <server host> <server port> <round trip in ms>     prints its port, ends when stdin closes
 *
 * Bytes are never reordered, merged or limited in number, as on a distant connection. Below 2 ms timers are
 * too coarse, so the proxy reads the clock in every turn of its event loop while data is in transit.
 */

import net from "node:net";

interface Parcel {
  readonly dueMs: number;
  readonly bytes: Buffer | undefined; // undefined: end of the stream
  readonly to: net.Socket;
}

const SPIN_BELOW_MS = 2;

class DelayLine {
  private readonly parcels: Parcel[] = [];
  private first = 0;
  private isBooked = false;

  constructor(private readonly delayMs: number) {}

  carry(bytes: Buffer | undefined, to: net.Socket): void {
    this.parcels.push({ dueMs: performance.now() + this.delayMs, bytes, to });
    this.book();
  }

  private book(): void {
    if (this.isBooked || this.first === this.parcels.length) return;
    this.isBooked = true;
    const waitMs = (this.parcels[this.first] as Parcel).dueMs - performance.now();
    if (waitMs > SPIN_BELOW_MS) setTimeout(this.deliver, waitMs - SPIN_BELOW_MS);
    else setImmediate(this.deliver);
  }

  private readonly deliver = (): void => {
    this.isBooked = false;
    const nowMs = performance.now();
    while (this.first < this.parcels.length && (this.parcels[this.first] as Parcel).dueMs <= nowMs) {
      const { bytes, to } = this.parcels[this.first] as Parcel;
      this.first++;
      if (bytes === undefined) to.end();
      else if (to.writable) to.write(bytes);
    }
    if (this.first > 1024 || this.first === this.parcels.length) {
      this.parcels.splice(0, this.first);
      this.first = 0;
    }
    this.book();
  };
}

function serve(host: string, port: number, roundTripMs: number): void {
  const server = net.createServer({ noDelay: true }, (client) => {
    const upstream = net.connect({ host, port, noDelay: true });
    join(client, upstream, new DelayLine(roundTripMs / 2));
    join(upstream, client, new DelayLine(roundTripMs / 2));
  });
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as net.AddressInfo).port}\n`);
  });
  process.stdin.resume();
  process.stdin.on("close", () => process.exit(0));
}

function join(from: net.Socket, to: net.Socket, line: DelayLine): void {
  from.on("data", (bytes: Buffer) => line.carry(bytes, to));
  from.on("end", () => line.carry(undefined, to));
  from.on("error", () => to.destroy());
}

serve(process.argv[2] as string, Number(process.argv[3]), Number(process.argv[4]));
