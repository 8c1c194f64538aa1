/**
 * The smallest client that can talk to a server: RESP2, one socket, replies in order. It prepares
 * and inspects servers without the code under test having a part in it. Error replies become
 * rejections; a lost connection rejects everything that is waiting.
 */

import { connect as connectPlain, type NetConnectOpts, type Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls } from "node:tls";

export type AdminReply = string | number | null | AdminReply[];

interface Waiter {
  resolve(reply: AdminReply): void;
  reject(error: Error): void;
}

interface Parsed {
  value: AdminReply | Error;
  end: number;
}

/** One reply of `buffer` that begins at `start`, or null while it is incomplete. */
function parseReply(buffer: Buffer, start: number): Parsed | null {
  const lineEnd = buffer.indexOf("\r\n", start);
  if (lineEnd < 0) return null;
  const line = buffer.toString("utf8", start + 1, lineEnd);
  const bodyStart = lineEnd + 2;
  switch (buffer[start]) {
    case 0x2b: // +
      return { value: line, end: bodyStart };
    case 0x2d: // -
      return { value: new Error(line), end: bodyStart };
    case 0x3a: // :
      return { value: Number(line), end: bodyStart };
    case 0x24: {
      // $
      const length = Number(line);
      if (length < 0) return { value: null, end: bodyStart };
      if (buffer.length < bodyStart + length + 2) return null;
      return { value: buffer.toString("utf8", bodyStart, bodyStart + length), end: bodyStart + length + 2 };
    }
    case 0x2a: // *
      return parseArray(buffer, bodyStart, Number(line));
    default:
      throw new Error(`Not RESP2: first byte ${buffer[start]}`);
  }
}

function parseArray(buffer: Buffer, start: number, length: number): Parsed | null {
  if (length < 0) return { value: null, end: start };
  const elements: AdminReply[] = [];
  let end = start;
  for (let index = 0; index < length; index++) {
    const element = parseReply(buffer, end);
    if (element === null) return null;
    elements.push(element.value instanceof Error ? element.value.message : element.value);
    end = element.end;
  }
  return { value: elements, end };
}

function encode(args: readonly (string | number)[]): string {
  const parts = args.map((arg) => `$${Buffer.byteLength(String(arg))}\r\n${arg}\r\n`);
  return `*${args.length}\r\n${parts.join("")}`;
}

export class AdminConnection {
  private readonly waiters: Waiter[] = [];
  private unread: Buffer = Buffer.alloc(0);

  private constructor(private readonly socket: Socket) {
    socket.on("data", (chunk) => this.read(chunk));
    socket.on("error", (error) => this.failAll(error));
    socket.on("close", () => this.failAll(new Error("Connection closed before the reply arrived")));
    this.rest();
  }

  /** Connects by TCP, unix socket or, with `tls`, by TLS. */
  static open(options: NetConnectOpts, tls?: ConnectionOptions): Promise<AdminConnection> {
    return new Promise((resolve, reject) => {
      const socket = tls === undefined ? connectPlain(options) : connectTls({ ...options, ...tls });
      socket.once("error", reject);
      socket.once(tls === undefined ? "connect" : "secureConnect", () => {
        socket.removeListener("error", reject);
        resolve(new AdminConnection(socket));
      });
    });
  }

  /** Sends one command. Rejects with the server's own text if it answers with an error. */
  command(...args: (string | number)[]): Promise<AdminReply> {
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) {
        reject(new Error("Connection is closed"));
        return;
      }
      this.waiters.push({ resolve, reject });
      this.socket.ref();
      this.socket.write(encode(args));
    });
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  close(): void {
    this.socket.destroy();
  }

  private read(chunk: Buffer): void {
    this.unread = this.unread.length === 0 ? chunk : Buffer.concat([this.unread, chunk]);
    let start = 0;
    while (start < this.unread.length) {
      const reply = parseReply(this.unread, start);
      if (reply === null) break;
      start = reply.end;
      const waiter = this.waiters.shift();
      if (reply.value instanceof Error) waiter?.reject(reply.value);
      else waiter?.resolve(reply.value);
    }
    this.unread = this.unread.subarray(start);
    this.rest();
  }

  /** Idle, it keeps no process alive. */
  private rest(): void {
    if (this.waiters.length === 0) this.socket.unref();
  }

  private failAll(error: Error): void {
    for (const waiter of this.waiters.splice(0)) waiter.reject(error);
  }
}
