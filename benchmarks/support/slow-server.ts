/**
 * A server that spends a given time on every command. Runs in a separate process.
 *
 *   node slow-server.js <microseconds a command> <round trip in ms> [ticks a second]
 *
 * It prints its port and ends when stdin closes. With ticks, it prints dots at regular intervals from the
 * first connection on. They are input for a reader, independent of the client.
 *
 * It replies to every command with one bulk string of 16 bytes. Like real servers, it executes all commands
 * of one read before it writes the replies in one write. It spends the time reading the clock, so the process
 * is as busy as a real server. Replies are delayed by the round trip. For a client this is the same as a
 * connection that delays every byte by half of it in each direction, without a proxy on the server's CPU.
 */

import net from "node:net";

const REPLY = "$16\r\n0123456789abcdef\r\n";
const CR = 13;
const STAR = 42;
const SPIN_BELOW_MS = 2;

interface Held {
  readonly dueMs: number;
  readonly bytes: string;
  readonly to: net.Socket;
}

/** Counts the commands that begin in what one connection sent; a command is an array of bulk strings. */
class CommandCounter {
  private rest = "";

  /** Complete commands in the received bytes. */
  count(chunk: Buffer): number {
    const text = this.rest + chunk.toString("latin1");
    let at = 0;
    let commands = 0;
    for (;;) {
      const end = this.endOfCommand(text, at);
      if (end < 0) break;
      commands++;
      at = end;
    }
    this.rest = text.slice(at);
    return commands;
  }

  /** Where the command that begins at `at` ends; -1 while it is not whole. */
  private endOfCommand(text: string, at: number): number {
    if (at >= text.length) return -1;
    if (text.charCodeAt(at) !== STAR) throw new Error("not an array of bulk strings");
    let line = text.indexOf("\r", at);
    if (line < 0) return -1;
    let words = Number(text.slice(at + 1, line));
    at = line + 2;
    while (words-- > 0) {
      line = text.indexOf("\r", at);
      if (line < 0) return -1;
      at = line + 2 + Number(text.slice(at + 1, line)) + 2;
      if (at > text.length) return -1;
    }
    return text.charCodeAt(at - 2) === CR ? at : -1;
  }
}

class HeldReplies {
  private readonly queue: Held[] = [];
  private first = 0;
  private isBooked = false;

  constructor(private readonly delayMs: number) {}

  send(bytes: string, to: net.Socket): void {
    if (this.delayMs === 0) {
      to.write(bytes, "latin1");
      return;
    }
    this.queue.push({ dueMs: performance.now() + this.delayMs, bytes, to });
    this.book();
  }

  /** Sends what is due; called between commands too, so that work does not hold replies back. */
  readonly deliver = (): void => {
    while (this.first < this.queue.length) {
      const { dueMs, bytes, to } = this.queue[this.first] as Held;
      if (dueMs > performance.now()) break;
      this.first++;
      if (to.writable) to.write(bytes, "latin1");
    }
    if (this.first !== this.queue.length) return;
    this.queue.length = 0;
    this.first = 0;
  };

  private book(): void {
    if (this.isBooked || this.queue.length === 0) return;
    this.isBooked = true;
    const waitMs = (this.queue[this.first] as Held).dueMs - performance.now();
    const look = (): void => {
      this.isBooked = false;
      this.deliver();
      this.book();
    };
    if (waitMs > SPIN_BELOW_MS) setTimeout(look, waitMs - SPIN_BELOW_MS);
    else setImmediate(look);
  }
}

function work(micros: number): void {
  const endMs = performance.now() + micros / 1000;
  while (performance.now() < endMs);
}

/** Prints a dot when its time has come. Pipes are written at once, so no dot waits for another. */
function tick(perSecond: number): void {
  const startMs = performance.now();
  let ticks = 0;
  const look = (): void => {
    for (; startMs + (ticks * 1000) / perSecond <= performance.now(); ticks++) process.stdout.write(".");
    setImmediate(look);
  };
  look();
}

function serve(commandMicros: number, roundTripMs: number, ticksPerSecond: number): void {
  const replies = new HeldReplies(roundTripMs);
  const server = net.createServer({ noDelay: true }, (socket) => {
    const counter = new CommandCounter();
    socket.on("error", () => socket.destroy());
    socket.on("data", (chunk: Buffer) => {
      const commands = counter.count(chunk);
      for (let done = 0; commandMicros > 0 && done < commands; done++) {
        work(commandMicros);
        if (roundTripMs > 0) replies.deliver();
      }
      if (commands > 0) replies.send(REPLY.repeat(commands), socket);
    });
  });
  if (ticksPerSecond > 0) server.once("connection", () => tick(ticksPerSecond));
  server.listen(0, "127.0.0.1", () => {
    process.stdout.write(`${(server.address() as net.AddressInfo).port}\n`);
  });
  process.stdin.resume();
  process.stdin.on("close", () => process.exit(0));
  // The reader of the dots has ended, so the measurement is over.
  process.stdout.on("error", () => process.exit(0));
}

serve(Number(process.argv[2]), Number(process.argv[3]), Number(process.argv[4] ?? 0));
