/**
 * A server that answers what a script tells it, for answers that a real one cannot be brought to
 * give. It reads commands as RESP arrays of bulk strings; a handler returns the reply, already
 * encoded or as a plain value. Commands of the handshake are answered unless the handler does it.
 */

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

/** Bytes that go out as they are. */
export class RawReply {
  constructor(readonly bytes: string | Buffer) {}
}

/** Says nothing. */
export const NO_REPLY = Symbol("no reply");

export type FakeReply = RawReply | typeof NO_REPLY | string | number | null | Error | FakeReply[];

export interface FakeConnection {
  readonly socket: Socket;
  /** Number of the connection, the first one is 1. */
  readonly number: number;
}

/** Gets the words of a command. `undefined` leaves the answer to the built-in handshake. */
export type FakeHandler = (words: string[], connection: FakeConnection) => FakeReply | undefined;

/** A plain value as RESP2: strings are bulk strings, "+TEXT" as a raw reply is a status. */
export function encodeReply(reply: FakeReply): string | Buffer {
  if (reply instanceof RawReply) return reply.bytes;
  if (reply instanceof Error) return `-${reply.message}\r\n`;
  if (reply === null) return "$-1\r\n";
  if (typeof reply === "number") return `:${reply}\r\n`;
  if (typeof reply === "string") return `$${Buffer.byteLength(reply)}\r\n${reply}\r\n`;
  if (reply === NO_REPLY) return "";
  return Buffer.concat([
    Buffer.from(`*${reply.length}\r\n`),
    ...reply.map((element) => Buffer.from(encodeReply(element))),
  ]);
}

/** A status reply such as OK. */
export function status(text: string): RawReply {
  return new RawReply(`+${text}\r\n`);
}

function handshakeReply(words: readonly string[]): FakeReply {
  switch (words[0]?.toLowerCase()) {
    case "hello":
      // As an old server: the client falls back to RESP2.
      return new Error("ERR unknown command 'HELLO'");
    case "info":
      return "# Server\r\nredis_version:7.0.15\r\n# Persistence\r\nloading:0\r\n";
    case "auth":
    case "select":
    case "client":
    case "readonly":
      return status("OK");
    case "ping":
      return status("PONG");
    case "quit":
      return status("OK");
    default:
      return new Error(`ERR unknown command '${words[0]}'`);
  }
}

/** Splits what a client sends into commands. Bytes of an unfinished command are kept. */
class RequestReader {
  private unread: Buffer = Buffer.alloc(0);

  *read(chunk: Buffer): Generator<string[]> {
    this.unread = Buffer.concat([this.unread, chunk]);
    for (;;) {
      const words = this.next();
      if (words === null) return;
      yield words;
    }
  }

  private next(): string[] | null {
    let position = 0;
    const readLength = (marker: string): number | null => {
      const end = this.unread.indexOf("\r\n", position);
      if (end < 0) return null;
      const line = this.unread.toString("latin1", position, end);
      if (line[0] !== marker) throw new Error(`Client sent ${JSON.stringify(line)} where ${marker} belongs`);
      position = end + 2;
      return Number(line.slice(1));
    };
    const count = readLength("*");
    if (count === null) return null;
    const words: string[] = [];
    for (let index = 0; index < count; index++) {
      const length = readLength("$");
      if (length === null || this.unread.length < position + length + 2) return null;
      words.push(this.unread.toString("utf8", position, position + length));
      position += length + 2;
    }
    this.unread = this.unread.subarray(position);
    return words;
  }
}

export class FakeServer {
  readonly host = "127.0.0.1";
  /** Every command that came, in order. */
  readonly received: string[][] = [];
  connectionCount = 0;
  /** Known also after the server has stopped. */
  port = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    public handler: FakeHandler,
  ) {}

  /** Listens on a free port, or on the given one. */
  static start(handler: FakeHandler = () => undefined, port = 0): Promise<FakeServer> {
    return new Promise((resolve, reject) => {
      const server = createServer();
      const fake = new FakeServer(server, handler);
      server.on("connection", (socket) => fake.accept(socket));
      server.once("error", reject);
      server.listen(port, fake.host, () => {
        fake.port = (server.address() as AddressInfo).port;
        resolve(fake);
      });
    });
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  get openConnections(): number {
    return this.sockets.size;
  }

  /** Writes to every open connection: push messages, garbage. */
  broadcast(reply: FakeReply): void {
    for (const socket of this.sockets) socket.write(encodeReply(reply));
  }

  /** Closes all connections and goes on listening. */
  dropConnections(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.dropConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket);
    socket.setNoDelay(true);
    const connection: FakeConnection = { socket, number: ++this.connectionCount };
    const reader = new RequestReader();
    socket.on("data", (chunk) => {
      for (const words of reader.read(chunk)) this.answer(words, connection);
    });
    socket.on("error", () => {});
    socket.on("close", () => this.sockets.delete(socket));
  }

  private answer(words: string[], connection: FakeConnection): void {
    this.received.push(words);
    const own = this.handler(words, connection);
    const reply = own === undefined ? handshakeReply(words) : own;
    if (reply !== NO_REPLY && !connection.socket.destroyed) connection.socket.write(encodeReply(reply));
  }
}
