/**
 * "raw": requests encoded beforehand, replies only counted. It shows the cost of the socket and the server
 * alone.
 *
 * No client can be better than this. The length of each operation's reply is learned once before measuring;
 * from then on bytes are counted, so operations must answer with the same number of bytes every time.
 */

import type { Clock } from "../support/clock";
import { BareReader } from "./bare-reader";
import { BareSocket } from "./bare-socket";
import { encodeRequest, type Operation, requestWords } from "./operation";
import type { Load, LoadPlan, Side, Target } from "./side";

export class RawSide implements Side {
  readonly name = "raw";
  private socket: BareSocket | undefined;

  async connect(target: Target): Promise<void> {
    this.socket = await BareSocket.open(target);
  }

  async prepare({ kind, operations, width }: LoadPlan): Promise<Load> {
    const socket = this.socket as BareSocket;
    const circle = await Circle.learn(socket, operations);
    if (kind === "callers" || kind === "handlers") {
      return (clock, record) => runInFlight(socket, circle, width, { clock, record });
    }
    const block = circle.block(width);
    return (clock, record) => runTogether(socket, block, { clock, record });
  }

  async close(): Promise<void> {
    this.socket?.close();
  }
}

interface Timing {
  readonly clock: Clock;
  readonly record: ((ms: number) => void) | undefined;
}

interface Block {
  readonly width: number;
  readonly bytes: Buffer;
  readonly replyBytes: number;
}

/** Encoded operations end to end, with the length of each request and of each reply. */
class Circle {
  private constructor(
    readonly requests: readonly Buffer[],
    readonly replyBytes: readonly number[],
    /** All requests joined, and where each begins; one more entry than there are requests. */
    readonly joined: Buffer,
    readonly starts: readonly number[],
  ) {}

  static async learn(socket: BareSocket, operations: readonly Operation[]): Promise<Circle> {
    const requests = operations.map((operation) => encodeRequest(requestWords(operation)));
    const replyBytes: number[] = [];
    for (const request of requests) replyBytes.push(await countReplyBytes(socket, request));
    const starts = [0];
    for (const request of requests) starts.push((starts[starts.length - 1] as number) + request.length);
    return new Circle(requests, replyBytes, Buffer.concat(requests), starts);
  }

  get size(): number {
    return this.requests.length;
  }

  /** So many requests end to end. */
  block(width: number): Block {
    const parts = new Array<Buffer>(Math.floor(width / this.size)).fill(this.joined);
    parts.push(this.joined.subarray(0, this.starts[width % this.size]));
    let replyBytes = 0;
    for (let index = 0; index < width; index++) replyBytes += this.replyBytes[index % this.size] as number;
    return { width, bytes: Buffer.concat(parts), replyBytes };
  }
}

function countReplyBytes(socket: BareSocket, request: Buffer): Promise<number> {
  return new Promise((resolve) => {
    let count = 0;
    const reader = new BareReader(() => resolve(count));
    socket.onBytes = (chunk) => {
      count += chunk.length;
      reader.push(chunk);
    };
    socket.write(request);
  });
}

/** Keeps `width` requests in flight: for every reply counted, one more request goes out. */
function runInFlight(
  socket: BareSocket,
  circle: Circle,
  width: number,
  { clock, record }: Timing,
): Promise<number> {
  return new Promise((resolve) => {
    let done = 0;
    let inFlight = 0;
    let unread = 0; // bytes of the reply awaited next that have arrived already
    let sendAt = 0;
    let readAt = 0;
    let isOver = false;
    let sentAtMs = 0;
    const send = (count: number): void => {
      inFlight += count;
      while (count > 0) {
        const upTo = Math.min(circle.size, sendAt + count);
        socket.write(circle.joined.subarray(circle.starts[sendAt], circle.starts[upTo]));
        count -= upTo - sendAt;
        sendAt = upTo === circle.size ? 0 : upTo;
      }
    };
    socket.onBytes = (chunk) => {
      unread += chunk.length;
      let answered = 0;
      while (answered < inFlight && unread >= (circle.replyBytes[readAt] as number)) {
        unread -= circle.replyBytes[readAt] as number;
        readAt = readAt + 1 === circle.size ? 0 : readAt + 1;
        answered++;
        isOver = clock.expired();
      }
      inFlight -= answered;
      done += answered;
      if (answered > 0 && width === 1) record?.(performance.now() - sentAtMs);
      if (isOver && inFlight === 0) resolve(done);
      if (isOver || answered === 0) return;
      sentAtMs = performance.now();
      send(answered);
    };
    sentAtMs = performance.now();
    send(width);
  });
}

/** Writes all requests at once and waits for the bytes of all replies, again and again. */
async function runTogether(socket: BareSocket, block: Block, { clock, record }: Timing): Promise<number> {
  let done = 0;
  do {
    const startMs = performance.now();
    await new Promise<void>((resolve) => {
      let left = block.replyBytes;
      socket.onBytes = (chunk) => {
        left -= chunk.length;
        if (left === 0) resolve();
      };
      socket.write(block.bytes);
    });
    record?.(performance.now() - startMs);
    done += block.width;
  } while (!clock.expired());
  return done;
}
