/**
 * "raw": requests encoded beforehand, replies only counted. What the socket and the server cost, nothing else.
 *
 * No client can be better than this. The length of each operation's reply is learned once before measuring; from then
 * on bytes are counted, so operations must answer with the same number of bytes every time.
 */

import { BareReader } from "./bare-reader";
import { BareSocket } from "./bare-socket";
import { encodeRequest, type Operation, requestWords } from "./operation";
import type { LoopKind, LoopPlan, Side, Target } from "./side";

export class RawSide implements Side {
  readonly name = "raw";
  private socket: BareSocket | undefined;

  async connect(target: Target): Promise<void> {
    this.socket = await BareSocket.open(target);
  }

  async run(kind: LoopKind, plan: LoopPlan): Promise<number> {
    const socket = this.socket as BareSocket;
    const circle = await Circle.learn(socket, plan.operations);
    if (kind === "turns" || kind === "batches") return runTogether(socket, circle, plan);
    return runInFlight(socket, circle, plan);
  }

  async close(): Promise<void> {
    this.socket?.close();
  }
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
function runInFlight(socket: BareSocket, circle: Circle, plan: LoopPlan): Promise<number> {
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
        isOver = plan.clock.expired();
      }
      inFlight -= answered;
      done += answered;
      if (answered > 0 && plan.width === 1) plan.record?.(performance.now() - sentAtMs);
      if (isOver && inFlight === 0) resolve(done);
      if (isOver || answered === 0) return;
      sentAtMs = performance.now();
      send(answered);
    };
    sentAtMs = performance.now();
    send(plan.width);
  });
}

/** Writes `width` requests at once and waits for the bytes of all replies, again and again. */
async function runTogether(socket: BareSocket, circle: Circle, plan: LoopPlan): Promise<number> {
  const { width, clock, record } = plan;
  const rounds = Math.floor(width / circle.size);
  const remainder = width % circle.size;
  const parts = new Array<Buffer>(rounds).fill(circle.joined);
  parts.push(circle.joined.subarray(0, circle.starts[remainder]));
  const bytes = Buffer.concat(parts);
  let expected = 0;
  for (let index = 0; index < width; index++) expected += circle.replyBytes[index % circle.size] as number;
  let done = 0;
  do {
    const startMs = performance.now();
    await new Promise<void>((resolve) => {
      let left = expected;
      socket.onBytes = (chunk) => {
        left -= chunk.length;
        if (left === 0) resolve();
      };
      socket.write(bytes);
    });
    record?.(performance.now() - startMs);
    done += width;
  } while (!clock.expired());
  return done;
}
