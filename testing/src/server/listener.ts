/**
 * Sockets in front of an engine: TCP, a unix socket, or a duplex stream in memory.
 */

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { Duplex } from "node:stream";
import type { ServerEngine } from "./model";
import { Session, type Transport } from "./session";

const HOST = "127.0.0.1";
/** That of the process: fake timers of a test may replace it, and connections in memory must not wait for them. */
const { nextTick } = process;

function transportOf(stream: Duplex, addresses: { remote: string; local: string }): Transport {
  return {
    remoteAddress: addresses.remote,
    localAddress: addresses.local,
    write: (bytes) => void stream.write(bytes, "latin1"),
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  };
}

function serve(engine: ServerEngine, stream: Duplex, addresses: { remote: string; local: string }): Session {
  const session = new Session(engine, transportOf(stream, addresses));
  stream.on("data", (chunk: Buffer) => session.receive(chunk));
  stream.on("end", () => stream.end());
  stream.on("error", () => stream.destroy());
  stream.on("close", () => session.forget());
  return session;
}

export class Listener {
  private readonly servers: Server[] = [];
  private readonly streams = new Set<Duplex>();
  private nextMemoryId = 1;

  constructor(private readonly engine: ServerEngine) {}

  /** Listens on a port; 0 for a free one. The port. */
  async listen(port: number): Promise<number> {
    const server = await this.open((ready, instance) => instance.listen(port, HOST, ready));
    return (server.address() as AddressInfo).port;
  }

  async listenAt(path: string): Promise<void> {
    await this.open((ready, instance) => instance.listen(path, ready));
  }

  /** The client's end of a connection in memory. */
  connect(): Duplex {
    const [client, server] = duplexPair();
    const name = `memory:${this.nextMemoryId++}`;
    this.track(server);
    serve(this.engine, server, { remote: name, local: "memory:0" });
    return client;
  }

  /** Cuts all connections. */
  cutAll(): void {
    for (const stream of [...this.streams]) stream.destroy();
  }

  async close(): Promise<void> {
    const closed = this.servers
      .splice(0)
      .map((server) => new Promise<void>((done) => server.close(() => done())));
    this.cutAll();
    await Promise.all(closed);
  }

  private open(listen: (ready: () => void, server: Server) => void): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer({ noDelay: true }, (socket) => this.accept(socket));
      server.once("error", reject);
      listen(() => {
        server.removeListener("error", reject);
        this.servers.push(server);
        resolve(server);
      }, server);
    });
  }

  private accept(socket: Socket): void {
    this.track(socket);
    const remote =
      socket.remoteAddress === undefined ? "unix:0" : `${socket.remoteAddress}:${socket.remotePort}`;
    const local = socket.localAddress === undefined ? "unix:0" : `${socket.localAddress}:${socket.localPort}`;
    serve(this.engine, socket, { remote, local });
  }

  private track(stream: Duplex): void {
    this.streams.add(stream);
    stream.once("close", () => this.streams.delete(stream));
  }
}

class MemoryEnd extends Duplex {
  other: MemoryEnd | null = null;
  private waiting: (() => void) | null = null;

  override _read(): void {
    const goOn = this.waiting;
    this.waiting = null;
    goOn?.();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const { other } = this;
    if (other === null || other.destroyed) {
      done();
      return;
    }
    // The reader takes it in a later turn, as from a socket.
    nextTick(() => {
      if (other.push(chunk)) done();
      else other.waiting = done;
    });
  }

  override _final(done: () => void): void {
    this.other?.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this;
    if (other !== null && !other.destroyed) nextTick(() => other.destroy());
    done(error);
  }
}

function duplexPair(): [Duplex, Duplex] {
  const [a, b] = [new MemoryEnd(), new MemoryEnd()];
  a.other = b;
  b.other = a;
  return [a, b];
}
