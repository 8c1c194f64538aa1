/** A sink that remembers what it was told, and feeds bytes to a parser in either way. */

import { type Message, MessagePart } from "../../../src/protocol/message";
import { Parser } from "../../../src/protocol/parser";
import type { ReplySink } from "../../../src/protocol/reply-sink";
import type { Reply } from "../../../src/protocol/resp-types";

export type Event = readonly [kind: "reply" | "error" | "push" | "failure", value: Reply];

export class RecordingSink implements ReplySink {
  readonly events: Event[] = [];
  asked = 0;
  /** Called after each event. */
  after: (event: Event) => void = () => {};

  constructor(private readonly decoding = 0) {}

  nextDecoding(): number {
    this.asked++;
    return this.decoding;
  }

  onReply(value: Reply): void {
    this.add(["reply", value]);
  }

  onErrorReply(error: Error): void {
    this.add(["error", error]);
  }

  onPush(message: Reply[]): void {
    this.add(["push", message]);
  }

  /** As it would come token by token. */
  onMessage(message: Message): void {
    const pattern = message.kind === "pmessage" ? [message.value(MessagePart.Pattern)] : [];
    this.add([
      "push",
      [
        Buffer.from(message.kind),
        ...pattern,
        message.value(MessagePart.Channel),
        message.value(MessagePart.Payload),
      ],
    ]);
  }

  onParserError(error: Error): void {
    this.add(["failure", error]);
  }

  private add(event: Event): void {
    this.events.push(event);
    this.after(event);
  }
}

export type Feed = (parser: Parser, bytes: Buffer) => void;

/** As a socket with a read hook does: at most as many bytes as there is room. */
export const viaReserve: Feed = (parser, bytes) => {
  let at = 0;
  do {
    const room = parser.reserve();
    const size = Math.min(room.length, bytes.length - at);
    room.set(bytes.subarray(at, at + size));
    at += size;
    parser.commit(size);
  } while (at < bytes.length);
};

/** As a socket that emits chunks does. The chunk is overwritten afterwards, as its owner may do. */
export const viaPush: Feed = (parser, bytes) => {
  const chunk = Buffer.from(bytes);
  parser.push(chunk);
  chunk.fill(0x21);
};

export const FEEDS: readonly Feed[] = [viaReserve, viaPush];

/** Parses `pieces` one after the other. */
export function parse(pieces: readonly (string | Buffer)[], decoding = 0, feed: Feed = viaPush): Event[] {
  const sink = new RecordingSink(decoding);
  const parser = new Parser(sink);
  sink.after = ([kind]) => {
    if (kind === "failure") parser.stop();
  };
  for (const piece of pieces) feed(parser, Buffer.from(piece as string));
  return sink.events;
}

/** The only reply in `text`. */
export function parseOne(text: string | Buffer, decoding = 0): Reply {
  const events = parse([text], decoding);
  if (events.length !== 1 || events[0]![0] === "failure") {
    throw new Error(`expected one reply, got ${JSON.stringify(events)} ${String(events[0]?.[1])}`);
  }
  return events[0]![1];
}

/** The message of the failure that `text` causes. */
export function failureOf(text: string | Buffer, feed: Feed = viaPush): string {
  const events = parse([text], 0, feed);
  const last = events[events.length - 1];
  if (last === undefined || last[0] !== "failure") throw new Error(`no failure: ${JSON.stringify(events)}`);
  return (last[1] as Error).message;
}

/** Bytes of Buffers and heap that `work` leaves behind while its result is alive. */
export function memoryGrowth(work: () => unknown): number {
  const before = process.memoryUsage();
  const result = work();
  const after = process.memoryUsage();
  if (result === undefined) throw new Error("the work has to return what it keeps");
  return after.arrayBuffers + after.heapUsed - before.arrayBuffers - before.heapUsed;
}
