/**
 * The parser alone, with a sink that ignores replies: `node build/benchmarks/micro/parser.js [word]` runs the
 * rows whose title contains the word. Nanoseconds and heap bytes per reply.
 */

import { isAscii } from "node:buffer";
import { copyBytes } from "../../src/protocol/copy-bytes";
import { decodeText } from "../../src/protocol/decode-value";
import { type Message, MessagePart } from "../../src/protocol/message";
import { Parser } from "../../src/protocol/parser";
import type { ReplySink } from "../../src/protocol/reply-sink";
import { Decode, type Reply } from "../../src/protocol/resp-types";
import { report } from "./measure";

class IgnoringSink implements ReplySink {
  last: Reply = null;
  constructor(private readonly decoding: number) {}
  nextDecoding(): number {
    return this.decoding;
  }
  onReply(value: Reply): void {
    this.last = value;
  }
  onErrorReply(error: Error): void {
    this.last = error;
  }
  onPush(message: Reply[]): void {
    this.last = message;
  }
  onMessage(message: Message): void {
    this.last = message.text(MessagePart.Payload);
  }
  onParserError(error: Error): void {
    throw error;
  }
}

const word = process.argv[2] ?? "";

function run(title: string, operations: number, work: () => void): void {
  if (title.includes(word)) report(title, operations, work);
}

/** What a socket reads at a time when much is waiting. */
const READ_BYTES = 64 * 1024;

function viaReads(wire: Buffer, decoding = 0): () => void {
  const parser = new Parser(new IgnoringSink(decoding));
  return () => {
    for (let at = 0; at < wire.length; ) {
      const room = parser.reserve();
      const size = Math.min(room.length, READ_BYTES, wire.length - at);
      wire.copy(room as Buffer, 0, at, at + size);
      at += size;
      parser.commit(size);
    }
  };
}

function viaChunks(wire: Buffer, decoding = 0): () => void {
  const parser = new Parser(new IgnoringSink(decoding));
  const chunks: Buffer[] = [];
  for (let at = 0; at < wire.length; at += READ_BYTES) chunks.push(wire.subarray(at, at + READ_BYTES));
  return () => {
    for (const chunk of chunks) parser.push(chunk);
  };
}

function bulk(text: string): string {
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

function list(count: number, element: (index: number) => string): string {
  return `*${count}\r\n${Array.from({ length: count }, (_, i) => element(i)).join("")}`;
}

const value16 = bulk("abcdefghijklmnop");

function replies(): void {
  const wire16 = Buffer.from(value16.repeat(1000));
  run("GET 16 B x 1000", 1000, viaReads(wire16));
  run("GET 16 B x 1000, chunks", 1000, viaChunks(wire16));
  run("GET 16 B x 1000, Buffers", 1000, viaReads(wire16, Decode.Buffers));
  run("GET 16 B x 1", 1, viaReads(Buffer.from(value16)));
  run("GET 6 B x 1000", 1000, viaReads(Buffer.from(bulk("abcdef").repeat(1000))));
  run("GET 36 B x 1000", 1000, viaReads(Buffer.from(bulk("x".repeat(36)).repeat(1000))));
  run("GET 16 B not ASCII x 1000", 1000, viaReads(Buffer.from(bulk("äbcdefghijklmno").repeat(1000))));
  run("GET 1 KiB x 1000", 1000, viaReads(Buffer.from(bulk("x".repeat(1024)).repeat(1000))));
  run("OK x 1000", 1000, viaReads(Buffer.from("+OK\r\n".repeat(1000))));
  run("integer x 1000", 1000, viaReads(Buffer.from(":12345\r\n".repeat(1000))));
  const message = list(3, (i) => [bulk("message"), bulk("channel:7"), value16][i] as string);
  const subscribed = Decode.Buffers | Decode.Messages;
  run("message of 16 B x 1000", 1000, viaReads(Buffer.from(message.repeat(1000)), subscribed));
  run("null x 1000", 1000, viaReads(Buffer.from("$-1\r\n".repeat(1000))));
  run("error x 1000", 1000, viaReads(Buffer.from("-ERR wrong kind of value\r\n".repeat(1000))));
  run("MGET 1000 of 16 B", 1, viaReads(Buffer.from(list(1000, () => value16))));
  run("LRANGE 10k of 16 B", 1, viaReads(Buffer.from(list(10_000, () => value16))));
  run("LRANGE 10k of 16 B, chunks", 1, viaChunks(Buffer.from(list(10_000, () => value16))));
  run("LRANGE 10k of 16 B, Buffers", 1, viaReads(Buffer.from(list(10_000, () => value16)), Decode.Buffers));
  run("LRANGE 10k of 10 B", 1, viaReads(Buffer.from(list(10_000, (i) => bulk(`item:${10_000 + i}`)))));
  const fields = list(2000, (i) => (i % 2 === 0 ? bulk(`field:${1000 + i}`) : value16));
  run("HGETALL 1000, flat", 1, viaReads(Buffer.from(fields)));
  const map = Buffer.from(fields.replace("*2000", "%1000"));
  run("HGETALL 1000, map as flat list", 1, viaReads(map));
  run("HGETALL 1000, map as object", 1, viaReads(map, Decode.Resp3Shapes));
  run("nested lists 1000 x 3", 1, viaReads(Buffer.from(list(1000, () => list(3, () => ":1\r\n")))));
  for (const size of [64 * 1024, 1024 * 1024]) {
    const wire = Buffer.from(bulk("x".repeat(size)));
    run(`GET ${size / 1024} KiB string`, 1, viaReads(wire));
    run(`GET ${size / 1024} KiB string, chunks`, 1, viaChunks(wire));
    run(`GET ${size / 1024} KiB Buffer`, 1, viaReads(wire, Decode.Buffers));
    run(`GET ${size / 1024} KiB Buffer, chunks`, 1, viaChunks(wire, Decode.Buffers));
  }
}

/** The thresholds in src/protocol/decode-value.ts come from these rows. */
function texts(): void {
  const count = 500;
  for (const size of [1, 4, 8, 12, 16, 17, 32, 64, 128, 256, 1024, 2048, 4096]) {
    const bytes = Buffer.alloc(count * size, "abcdefghijklmnopqrstuvwxyz");
    let last: unknown;
    const each = (make: (start: number, end: number) => unknown) => () => {
      for (let i = 0; i < count; i++) last = make(i * size, i * size + size);
      return last;
    };
    run(
      `text ${size} B: decodeText`,
      count,
      each((s, e) => decodeText(bytes, s, e)),
    );
    run(
      `text ${size} B: toString utf8`,
      count,
      each((s, e) => bytes.toString("utf8", s, e)),
    );
    run(
      `text ${size} B: toString latin1`,
      count,
      each((s, e) => bytes.toString("latin1", s, e)),
    );
    run(
      `text ${size} B: copyBytes`,
      count,
      each((s, e) => copyBytes(bytes, s, e)),
    );
    run(
      `text ${size} B: isAscii`,
      count,
      each((s, e) => isAscii(bytes.subarray(s, e))),
    );
  }
}

replies();
if (word !== "") texts();
