/**
 * A connection in memory to the test server that reports all data and delays the replies, as if the server
 * were distant. It creates the pages that show writes.
 */

import type { Duplex } from "node:stream";
import { toText } from "../../testing/src/protocol/numbers";
import { RequestError, RequestParser } from "../../testing/src/protocol/request-parser";

export interface Tap {
  wrote(chunk: Buffer): void;
  /** The client is about to read this. */
  answered(chunk: Buffer): void;
}

/** The events that a stream emits for its reader. All of them are delayed, so that their order is kept. */
const INCOMING = new Set<string | symbol>(["data", "end", "close"]);

export function tapped(stream: Duplex, tap: Tap, roundTripMs: number): Duplex {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (chunk: Buffer | string, ...rest: unknown[]) => {
    tap.wrote(typeof chunk === "string" ? Buffer.from(chunk, "latin1") : Buffer.from(chunk));
    return write(chunk, ...rest);
  };
  const emit = stream.emit.bind(stream) as (name: string | symbol, ...args: unknown[]) => boolean;
  stream.emit = (name: string | symbol, ...args: unknown[]) => {
    if (!INCOMING.has(name)) return emit(name, ...args);
    setTimeout(() => {
      if (name === "data") tap.answered(args[0] as Buffer);
      emit(name, ...args);
    }, roundTripMs);
    return true;
  };
  return stream;
}

/** The commands in whole requests, their words apart. */
export function commandsIn(bytes: Buffer): string[] {
  const parser = new RequestParser();
  parser.push(bytes);
  const commands: string[] = [];
  try {
    for (let words = parser.next(); words !== null; words = parser.next()) {
      if (words.length > 0) commands.push(words.map(toText).join(" "));
    }
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
  }
  return commands;
}

/** Bytes as they stand on the line, with the ends of lines made visible. */
export function visibleBytes(bytes: Buffer): string {
  return bytes.toString("latin1").replaceAll("\r\n", "\\r\\n");
}
