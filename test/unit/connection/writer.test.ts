/** The writer over a scripted socket: what leaves at once, what waits for what, and what happens when the socket takes no more. */

import { tracingChannel } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { Duplex } from "node:stream";
import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { CommandQueue } from "../../../src/connection/command-queue";
import { ConnectionState } from "../../../src/connection/connection-state";
import type { WriteListener } from "../../../src/connection/flush-encoder";
import { FlushMeter } from "../../../src/connection/flush-meter";
import { flushScheduler } from "../../../src/connection/flush-scheduler";
import { ScriptMemory } from "../../../src/connection/script-memory";
import { Writer, type WriterOptions, type WriterSource } from "../../../src/connection/writer";
import type { FlushContext } from "../../../src/observability/work-channels";
import { Ending } from "../../support/ending";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const runEnd = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

class Source implements WriterSource {
  readonly queue = new CommandQueue();
  readonly scripts = new ScriptMemory();
  state: ConnectionState = ConnectionState.Ready;
  lastActivityMs = 0;
  writesAtTaskEnd = false;
  readonly told: string[] = [];
  readonly socketTimeout = { windUp: (): number => this.told.push("written") };

  destroy(error: Error): void {
    this.told.push(`destroyed: ${error.message}`);
  }
}

/** Keeps what it is given, and says what the test wants it to say. */
class Taker {
  readonly chunks: Buffer[] = [];
  readonly corks: string[] = [];
  /** The answer to `write`, and the bytes that the stream then says it holds. */
  takesMore = true;
  held = 0;
  thrown: Error | null = null;

  constructor(readonly socket: Duplex) {
    Object.defineProperty(socket, "writableLength", { get: () => this.held });
    socket.write = ((chunk: Buffer, onWritten?: () => void) => {
      if (this.thrown !== null) throw this.thrown;
      this.chunks.push(chunk);
      if (onWritten !== undefined) setImmediate(onWritten);
      return this.takesMore;
    }) as Duplex["write"];
    socket.cork = () => void this.corks.push("cork");
    socket.uncork = () => void this.corks.push("uncork");
  }

  /** The words of the ECHOs of each write. */
  get words(): string[] {
    return this.chunks.map((chunk) =>
      [...String(chunk).matchAll(/echo\r\n\$\d+\r\n(\w*)/gi)].map((found) => found[1]).join(" "),
    );
  }
}

const ofUser = (): Duplex => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });

describe("Writer", () => {
  let source: Source;
  let taker: Taker;
  let writer: Writer;
  let meter: FlushMeter;
  const made: Command[] = [];
  let listener: { isLogging: boolean; onWrite: (command: Command) => void };

  function open(socket: Duplex, options: Partial<WriterOptions> = {}): void {
    source = new Source();
    taker = new Taker(socket);
    listener = { isLogging: false, onWrite: () => {} };
    const tracer: WriteListener = {
      get isLogging() {
        return listener.isLogging;
      },
      onWrite: (command) => listener.onWrite(command),
    };
    const all: WriterOptions = { highWaterBytes: 1 << 20, flushPolicy: "adaptive", ...options };
    meter = new FlushMeter(source.queue);
    writer = new Writer(source, all, meter, tracer);
    writer.attach(socket);
  }

  function newCall(word: unknown): Command {
    const command = new Command(specOf("echo"), [word as string], false, new Ending());
    made.push(command);
    return command;
  }

  function call(word: unknown): Command {
    const command = newCall(word);
    source.queue.push(command);
    writer.onQueued();
    return command;
  }

  function answer(count: number): void {
    for (let i = 0; i < count; i++) source.queue.shift();
  }

  /** Lets the process write what is scheduled, so that no test finds something of another one. */
  afterEach(async () => {
    await turn();
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  it("writes a command at once while nothing is in flight", () => {
    open(new Socket());
    call("a");
    expect(taker.words).to.deep.equal(["a"]);
    expect(source.told).to.deep.equal(["written"]);
    expect(writer.isScheduled).to.equal(false);
  });

  it("holds later commands behind one that was written ahead, until it may go on", async () => {
    open(ofUser());
    source.queue.push(newCall("ahead"));
    writer.writeAhead();
    call("a");
    await turn();
    expect(taker.words).to.deep.equal(["ahead"]);
    answer(1);
    writer.goOn();
    await turn();
    expect(taker.words).to.deep.equal(["ahead", "a"]);
    writer.goOn();
    expect(writer.isScheduled, "nothing waits").to.equal(false);
  });

  it("writes together, at the end of the run, what is issued on a stream of a user", async () => {
    open(ofUser());
    for (const word of ["a", "b", "c"]) call(word);
    expect(taker.words).to.deep.equal([]);
    expect(writer.isScheduled).to.equal(true);
    await runEnd();
    expect(taker.words).to.deep.equal(["a b c"]);
    expect(writer.isScheduled).to.equal(false);
  });

  for (const [name, options, writesAtTaskEnd] of [
    ["the policy is `turn`", { flushPolicy: "turn" }, false],
    ["its connection gathers", {}, true],
  ] as const) {
    it(`writes nothing before the end of the run while ${name}`, async () => {
      open(new Socket(), options);
      source.writesAtTaskEnd = writesAtTaskEnd;
      for (const word of ["a", "b"]) call(word);
      expect(taker.words).to.deep.equal([]);
      await runEnd();
      expect(taker.words).to.deep.equal(["a b"]);
    });
  }

  it("waits for the end of the turn while replies are outstanding", async () => {
    open(ofUser());
    call("a");
    await runEnd();
    call("b");
    await runEnd();
    expect(taker.words).to.deep.equal(["a"]);
    await turn();
    expect(taker.words).to.deep.equal(["a", "b"]);
    // Only the first of them found the connection idle.
    expect(source.told).to.deep.equal(["written", "written"]);
    answer(2);
    call("c");
    await runEnd();
    expect(source.told.slice(2)).to.deep.equal(["written"]);
  });

  it("writes what follows a command that has left at once at the end of the same run", async () => {
    open(new Socket());
    source.writesAtTaskEnd = false;
    call("a");
    source.writesAtTaskEnd = true;
    call("b");
    await runEnd();
    expect(taker.words).to.deep.equal(["a", "b"]);
    // From now on there are replies to wait for, and no command of this run has found none.
    call("c");
    await runEnd();
    expect(taker.words).to.deep.equal(["a", "b"]);
    await turn();
    expect(taker.words).to.deep.equal(["a", "b", "c"]);
  });

  it("writes at once what is too much to wait", () => {
    open(ofUser());
    for (let i = 0; i < 8191; i++) call("x");
    expect(taker.chunks).to.deep.equal([]);
    call("last");
    expect(String(Buffer.concat(taker.chunks)).match(/echo\r\n/gi)).to.have.length(8192);
    // Several pieces of memory are one write to the kernel.
    expect(taker.chunks.length).to.be.above(1);
    expect(taker.corks).to.deep.equal(["cork", "uncork"]);
    expect(source.queue.unsent).to.equal(0);
  });

  it("leaves what is above the mark to the next turn", async () => {
    open(ofUser(), { highWaterBytes: 100 });
    const words = Array.from({ length: 50 }, (_, index) => `w${index}`);
    for (const word of words) call(word);
    await runEnd();
    const first = taker.words.length;
    expect(first).to.equal(1);
    expect(source.queue.unsent).to.be.within(1, 45);
    for (let i = 0; i < 50 && source.queue.unsent > 0; i++) await turn();
    expect(taker.words.length).to.be.above(1);
    expect(taker.words.join(" ").split(" ")).to.deep.equal(words);
  });

  it("writes nothing between a socket's no and its drain", async () => {
    open(ofUser());
    [taker.takesMore, taker.held] = [false, 1000];
    call("a");
    await runEnd();
    call("b");
    await turn();
    await turn();
    writer.flushWhole();
    expect(taker.words).to.deep.equal(["a"]);
    [taker.takesMore, taker.held] = [true, 0];
    taker.socket.emit("drain");
    expect(taker.words).to.deep.equal(["a"]);
    await turn();
    expect(taker.words).to.deep.equal(["a", "b"]);
  });

  it("does not wait for the drain of a socket that has kept nothing", async () => {
    open(ofUser());
    taker.takesMore = false;
    call("a");
    await runEnd();
    call("b");
    await turn();
    expect(taker.words).to.deep.equal(["a", "b"]);
  });

  it("gives nothing to a socket that has ended, nor for a connection that is closed", async () => {
    for (const close of [
      () => Object.defineProperty(taker.socket, "writable", { value: false }),
      () => (source.state = ConnectionState.Closed),
    ]) {
      open(ofUser());
      close();
      call("a");
      await runEnd();
      writer.flushWhole();
      expect(taker.words).to.deep.equal([]);
      expect(source.queue.unsent).to.equal(1);
    }
  });

  it("writes during the handshake, but never before the end of the run", async () => {
    open(new Socket());
    source.state = ConnectionState.Handshaking;
    call("a");
    expect(taker.words).to.deep.equal([]);
    await runEnd();
    expect(taker.words).to.deep.equal(["a"]);
  });

  it("ends the connection when the socket throws, or a command cannot be encoded", async () => {
    open(ofUser());
    taker.thrown = new Error("no such pipe");
    call("a");
    await runEnd();
    expect(source.told).to.deep.equal(["destroyed: no such pipe"]);

    open(ofUser());
    const broken = call(null);
    await runEnd();
    expect(taker.chunks).to.deep.equal([]);
    expect(source.told[0]).to.match(/^destroyed: /);
    expect(broken.isSettled).to.equal(true);
  });

  it("keeps the order of commands that a tracer issues while others are encoded", async () => {
    open(new Socket());
    listener.isLogging = true;
    listener.onWrite = (command) => {
      if (command.args[0] === "a") call("inner");
    };
    call("a");
    expect(taker.words).to.deep.equal(["a"]);
    await turn();
    expect(taker.words).to.deep.equal(["a", "inner"]);
  });

  it("leaves to a stream what it was given: it may read it later", async () => {
    for (const socket of [ofUser(), new Socket()]) {
      open(socket);
      for (const word of ["first", "second", "third"]) {
        call(word);
        await turn();
        answer(1);
      }
      expect(taker.words).to.deep.equal(["first", "second", "third"]);
    }
  });

  it("writes nothing from within the encoding of something else", async () => {
    open(ofUser());
    listener.isLogging = true;
    listener.onWrite = () => writer.flushWhole();
    call("a");
    call("b");
    await runEnd();
    expect(taker.words).to.deep.equal(["a b"]);
  });

  it("treats what was handed over together as one command", async () => {
    open(new Socket());
    const queueBatch = (...words: string[]): void => {
      for (const word of words) source.queue.push(newCall(word));
      writer.onBatchQueued();
    };
    queueBatch("a", "b");
    expect(taker.words).to.deep.equal(["a b"]);
    source.writesAtTaskEnd = true;
    queueBatch("c", "d");
    queueBatch("e");
    expect(writer.isScheduled).to.equal(true);
    await turn();
    expect(taker.words).to.deep.equal(["a b", "c d e"]);
  });

  it("counts each write, with its bytes and its commands", async () => {
    open(ofUser());
    call("a");
    call("b");
    await runEnd();
    const { flushes, written, bytesWritten } = meter.counts;
    expect([flushes, written, bytesWritten]).to.deep.equal([1, 2, taker.chunks[0]?.length]);
    expect(taker.corks).to.deep.equal([]);
  });

  describe("by the rule of the scheduler", () => {
    let mayWrite: boolean;
    let causes: (string | undefined)[];
    const flushes = tracingChannel<unknown, FlushContext>("sluice:flush");
    const nothing = (): void => {};
    const handlers = {
      start: (context: object) => void causes.push((context as FlushContext).cause),
      ...{ end: nothing, asyncStart: nothing, asyncEnd: nothing, error: nothing },
    };

    beforeEach(() => {
      [mayWrite, causes] = [false, []];
      flushScheduler.mayWriteEarly = () => mayWrite;
      flushes.subscribe(handlers);
    });
    afterEach(() => {
      flushes.unsubscribe(handlers);
      Reflect.deleteProperty(flushScheduler, "mayWriteEarly");
    });

    /** Two commands are in flight. */
    async function inFlight(): Promise<void> {
      open(new Socket());
      for (let i = 0; i < 2; i++) call("x");
      await turn();
      [taker.chunks.length, causes.length] = [0, 0];
    }

    it("writes the first command at once, if it may", async () => {
      await inFlight();
      mayWrite = true;
      call("a");
      expect(taker.words).to.deep.equal(["a"]);
      expect(causes).to.deep.equal(["early"]);
    });

    it("writes what has gathered as soon as it may, and at the end of the turn otherwise", async () => {
      await inFlight();
      call("a");
      call("b");
      expect(taker.words).to.deep.equal([]);
      mayWrite = true;
      call("c");
      expect(taker.words).to.deep.equal(["a b c"]);
      mayWrite = false;
      call("d");
      await turn();
      expect(taker.words).to.deep.equal(["a b c", "d"]);
      expect(causes).to.deep.equal(["early", "turn"]);
    });

    it("names the drain of the socket and the end of the client as causes", async () => {
      open(ofUser());
      [taker.takesMore, taker.held] = [false, 1000];
      call("a");
      await runEnd();
      call("b");
      [taker.takesMore, taker.held] = [true, 0];
      taker.socket.emit("drain");
      await turn();
      call("c");
      writer.finish(nothing);
      expect(causes).to.deep.equal(["run", "drain", "closing"]);
      expect(meter.counts.stalls).to.equal(1);
    });

    it("writes nothing early that its connection gathers", async () => {
      await inFlight();
      call("a");
      [source.writesAtTaskEnd, mayWrite] = [true, true];
      call("b");
      expect(taker.words).to.deep.equal([]);
      await turn();
      expect(taker.words).to.deep.equal(["a b"]);
    });

    it("writes what is too much to wait, whatever the rule says", async () => {
      await inFlight();
      for (let i = 0; i < 8191; i++) source.queue.push(newCall("x"));
      call("a");
      expect(taker.chunks).to.deep.equal([]);
      call("b");
      expect(taker.chunks).not.to.deep.equal([]);
      expect(causes).to.deep.equal(["size"]);
    });
  });

  it("finishes when all is written, and says so once", async () => {
    open(ofUser());
    let times = 0;
    call("a");
    call("b");
    writer.finish(() => times++);
    expect(taker.words).to.deep.equal(["a b"]);
    expect(times).to.equal(1);
    writer.flush();
    await turn();
    expect(times).to.equal(1);
  });

  it("finishes behind what the socket takes later", async () => {
    open(ofUser());
    let times = 0;
    [taker.takesMore, taker.held] = [false, 1000];
    call("a");
    await runEnd();
    call("b");
    writer.finish(() => times++);
    await turn();
    expect([taker.words, times]).to.deep.equal([["a"], 0]);
    [taker.takesMore, taker.held] = [true, 0];
    taker.socket.emit("drain");
    await turn();
    expect([taker.words, times]).to.deep.equal([["a", "b"], 1]);
  });

  it("writes stretch after stretch when it must write whole, as long as the socket keeps nothing", () => {
    open(ofUser(), { highWaterBytes: 100 });
    for (let i = 0; i < 50; i++) call(`w${i}`);
    writer.flushWhole();
    expect(source.queue.unsent).to.equal(0);

    open(ofUser(), { highWaterBytes: 100 });
    taker.held = 1;
    for (let i = 0; i < 50; i++) call(`w${i}`);
    writer.flushWhole();
    expect(taker.chunks.length).to.equal(1);
  });

  it("writes all pieces of a flush in one write to the kernel, and one piece without a cork", async () => {
    const counts = new Set<number>();
    for (let size = 1; size < 200_000; size += 20_000) {
      open(ofUser());
      call("x".repeat(size));
      call("y".repeat(size));
      await runEnd();
      const { length } = taker.chunks;
      counts.add(length);
      expect(taker.corks, `${length} pieces`).to.deep.equal(length > 1 ? ["cork", "uncork"] : []);
    }
    expect(counts.size).to.be.above(1);
  });
});
