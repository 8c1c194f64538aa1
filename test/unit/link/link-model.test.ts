/**
 * A link with its reconnecting over scripted connections, without a server: random calls, losses,
 * refused dials, disconnects and new beginnings. Every call settles once and with its own answer,
 * first runs are in order, the words of the link follow its table, and nothing hangs.
 */

import { Duplex } from "node:stream";
import { expect } from "chai";
import fc from "fast-check";
import { makeCommand } from "../../../src/command/command-factory";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { AbstractConnector } from "../../../src/link/connector";
import { Link } from "../../../src/link/link";
import type { LinkOptions } from "../../../src/link/link-options";
import { type LinkStatus, moveLink } from "../../../src/link/link-state";
import { fixedRuns } from "../../support/properties";
import { linkDeps } from "./link-peer";

/** Answers ECHO, and the handshake of a server that knows only RESP2. */
class ScriptedSocket extends Duplex {
  private unread = "";
  /** Answers that are held back. */
  private held: string[] = [];

  constructor(private readonly server: ScriptedServer) {
    super();
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.unread += chunk.toString("latin1");
    for (;;) {
      const match = /^\*(\d+)\r\n/.exec(this.unread);
      if (match === null) break;
      const words: string[] = [];
      let at = match[0].length;
      for (let i = 0; i < Number(match[1]); i++) {
        const head = /^\$(\d+)\r\n/.exec(this.unread.slice(at));
        const length = Number(head?.[1]);
        const start = at + (head?.[0].length ?? 0);
        words.push(this.unread.slice(start, start + length));
        at = start + length + 2;
      }
      this.unread = this.unread.slice(at);
      this.obey(words);
    }
    done();
  }

  override _final(done: () => void): void {
    done();
    setImmediate(() => this.destroy());
  }

  release(): void {
    for (const answer of this.held.splice(0)) if (!this.destroyed) this.push(answer);
  }

  private obey(words: string[]): void {
    const answer = this.server.answer(words);
    if (this.server.holds && words[0] === "echo") this.held.push(answer);
    else setImmediate(() => !this.destroyed && this.push(answer));
  }
}

class ScriptedServer {
  /** The commands that ran, in order. */
  readonly ran: string[] = [];
  refusals = 0;
  /** Echoes are answered when they are released. */
  holds = false;
  socket: ScriptedSocket | null = null;

  answer(words: string[]): string {
    if (words[0] === "hello") return "-ERR unknown command 'HELLO'\r\n";
    if (words[0] !== "echo") return "+OK\r\n";
    const text = words[1] as string;
    this.ran.push(text);
    return `$${text.length}\r\n${text}\r\n`;
  }
}

class ScriptedConnector extends AbstractConnector {
  constructor(private readonly server: ScriptedServer) {
    super(20);
  }

  override async connect(): Promise<Duplex> {
    this.connecting = true;
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.connecting) throw new Error("Connection is closed.");
    const { server } = this;
    const socket = new ScriptedSocket(server);
    this.stream = socket;
    if (server.refusals > 0) {
      server.refusals--;
      setImmediate(() => socket.destroy(Object.assign(new Error("refused"), { syscall: "connect" })));
    }
    server.socket = socket;
    return socket;
  }
}

type Step =
  | "call"
  | "calls"
  | "cut"
  | "refuse"
  | "hold"
  | "release"
  | "turn"
  | "disconnect"
  | "reconnect"
  | "connect";

const programs: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom<Step>("call", "calls", "turn", "turn") },
    { weight: 3, arbitrary: fc.constantFrom<Step>("cut", "refuse", "hold", "release") },
    { weight: 1, arbitrary: fc.constantFrom<Step>("disconnect", "reconnect", "connect") },
  ),
  { maxLength: 30 },
);

const NEXT: Readonly<Record<LinkStatus, readonly LinkStatus[]>> = {
  wait: ["connecting", "close"],
  connecting: ["connect", "close", "reconnecting", "end"],
  connect: ["ready", "close"],
  ready: ["monitoring", "close"],
  monitoring: ["close"],
  close: ["reconnecting", "connecting", "end"],
  reconnecting: ["connecting", "end"],
  end: ["connecting"],
};

async function run(program: readonly Step[], retryPolicy: "at-least-once" | "at-most-once"): Promise<void> {
  const server = new ScriptedServer();
  const words: LinkStatus[] = ["wait"];
  const deps = linkDeps({ onStatus: (status) => void words.push(status) });
  const options: LinkOptions = {
    retryStrategy: () => 0,
    retryPolicy,
    watchdog: false,
    autoResubscribe: true,
    disconnectTimeout: 20,
    disableClientInfo: true,
    maxLossesPerCommand: 100,
  };
  const link = new Link(options, new ScriptedConnector(server), deps);
  const outcomes: Promise<{ text: string; value: unknown; code: string | null }>[] = [];
  let settled = 0;
  const call = (): void => {
    const text = `t${outcomes.length}`;
    const completion = new PromiseCompletion();
    const outcome = completion.promise.then(
      (value) => ({ text, value, code: null }),
      (error: Error & { code: string }) => ({ text, value: null, code: error.code }),
    );
    outcomes.push(outcome);
    void outcome.then(() => settled++);
    link.dispatch(makeCommand(specOf("echo"), [text], false, completion));
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (const step of program) {
    if (step === "call") call();
    else if (step === "calls") for (let i = 0; i < 5; i++) call();
    else if (step === "cut") server.socket?.destroy();
    else if (step === "refuse") server.refusals++;
    else if (step === "hold") server.holds = true;
    else if (step === "release") {
      server.holds = false;
      server.socket?.release();
    } else if (step === "disconnect") link.disconnect();
    else if (step === "reconnect") link.disconnect(true);
    else if (step === "connect") link.connect().catch(() => {});
    else await turn();
  }
  server.holds = false;
  server.refusals = 0;
  // Left alone, it answers what it has taken; then it ends.
  for (let i = 0; i < 2000 && (settled < outcomes.length || !link.isIdle); i++) {
    server.socket?.release();
    await turn();
  }
  expect(settled, `settled of ${outcomes.length}, ${link.status}`).to.equal(outcomes.length);
  expect(link.isIdle).to.equal(true);
  const results = await Promise.all(outcomes);
  const answered = results.filter(({ code }) => code === null);
  for (const { text, value } of answered) {
    expect(value).to.equal(text);
    expect(server.ran).to.include(text);
  }
  for (const { text, code } of results) {
    if (code !== null) expect(code).to.be.oneOf(["CONNECTION_CLOSED", "OUTCOME_UNKNOWN", "ABORTED"]);
    if (code === "CONNECTION_CLOSED") expect(server.ran, "what was not sent").to.not.include(text);
    const runs = server.ran.filter((one) => one === text).length;
    if (retryPolicy === "at-most-once") expect(runs).to.be.at.most(1);
  }
  const firstRuns = [...new Set(server.ran)].map((text) => Number(text.slice(1)));
  expect(firstRuns).to.deep.equal([...firstRuns].sort((a, b) => a - b));
  words.forEach((word, i) => {
    if (i > 0) expect(NEXT[words[i - 1] as LinkStatus], `${words[i - 1]} to ${word}`).to.include(word);
  });
  link.disconnect();
  for (let i = 0; i < 200 && link.status !== "end" && link.status !== "wait"; i++) await turn();
  if (words.length > 1) expect(link.status).to.equal("end");
}

describe("a link over scripted connections", () => {
  for (const retryPolicy of ["at-least-once", "at-most-once"] as const) {
    it(`settles every call once, in order, ${retryPolicy}`, async () => {
      await fc.assert(
        fc.asyncProperty(programs, (program) => run(program, retryPolicy)),
        fixedRuns(300),
      );
    });
  }

  it("makes no move that its table does not know", () => {
    const all = Object.keys(NEXT) as LinkStatus[];
    for (const from of all) {
      for (const to of all) {
        if (NEXT[from].includes(to)) expect(moveLink(from, to)).to.equal(to);
        else expect(() => moveLink(from, to)).to.throw(/cannot go/);
      }
    }
  });
});
