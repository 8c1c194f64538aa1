/**
 * A connection with its queue, encoder, parser and push router over a scripted socket: random
 * commands, batches, pipelines, subscriptions and messages, replies cut anywhere, a peer that takes
 * nothing for a while, and a loss. Every command settles once with what the peer said about it.
 */

import { Duplex } from "node:stream";
import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { Connection } from "../../../src/connection/connection";
import type { MessageListener } from "../../../src/connection/push-router";
import { Subscriptions } from "../../../src/connection/subscriptions";
import { MessagePart } from "../../../src/protocol/message";
import { RequestParser } from "../../../testing/src/protocol/request-parser";
import { fixedRuns } from "../../support/properties";

const KINDS = ["subscribe", "psubscribe", "ssubscribe"];
const MESSAGES = ["message", "pmessage", "smessage"];

/** Answers when it is told to: ECHO with its argument or an error, subscriptions with their count. */
class Peer extends Duplex {
  /** Requests that came, in order, and how many of them are answered. */
  readonly requests: string[][] = [];
  answered = 0;
  /** The answer to each ECHO: its number, or an error. */
  readonly said = new Map<string, string>();
  /** The count at the end of each answer to a subscription. */
  readonly counts: string[] = [];
  readonly sent: string[] = [];
  private readonly parser = new RequestParser();
  private readonly names = [new Set<string>(), new Set<string>(), new Set<string>()];
  private taken: (() => void) | null = null;
  private isStuck = false;

  constructor(private readonly protocol: 2 | 3) {
    super({ highWaterMark: 64 });
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.parser.push(chunk);
    for (let words = this.parser.next(); words !== null; words = this.parser.next())
      this.requests.push(words);
    if (this.isStuck) this.taken = done;
    else done();
  }

  stick(isStuck: boolean): void {
    this.isStuck = isStuck;
    const { taken } = this;
    this.taken = null;
    if (!isStuck) taken?.();
  }

  /** Answers up to `count` requests, in chunks of `size` bytes. */
  answer(count: number, size: number, isError: boolean): void {
    let bytes = "";
    for (let i = 0; i < count && this.answered < this.requests.length; i++) {
      bytes += this.replyTo(this.requests[this.answered++] as string[], isError && i === 0);
    }
    this.send(bytes, size);
  }

  /** Publishes to a channel; heard only by those who have subscribed. */
  publish(kind: number, name: string, text: string): void {
    if (this.names[kind]?.has(name) !== true) return;
    const rest = KINDS[kind] === "psubscribe" ? [name, name, text] : [name, text];
    this.sent.push(`${MESSAGES[kind]} ${name} ${text}`);
    this.send(this.list([MESSAGES[kind] as string, ...rest].map(bulk)), 7);
  }

  private replyTo([word = "", ...names]: string[], isError: boolean): string {
    const kind = KINDS.indexOf(word.replace("unsub", "sub"));
    if (kind >= 0) return this.change(word, kind, names);
    const isRefused = isError || (this.protocol === 2 && this.count() > 0);
    this.said.set(names[0] as string, isRefused ? "ERR" : (names[0] as string));
    return isRefused ? "-ERR no\r\n" : bulk(names[0] as string);
  }

  private change(word: string, kind: number, names: readonly string[]): string {
    const set = this.names[kind] as Set<string>;
    const isEntry = !word.includes("unsub");
    const all = names.length > 0 ? names : [...set];
    const told = (name: string | null): string =>
      this.list([bulk(word), name === null ? "$-1\r\n" : bulk(name), `:${this.count()}\r\n`]);
    const answers = all.map((name) => {
      if (isEntry) set.add(name);
      else set.delete(name);
      return told(name);
    });
    this.counts.push(String(this.count()));
    return answers.length === 0 ? told(null) : answers.join("");
  }

  private count(): number {
    return this.names.reduce((sum, { size }) => sum + size, 0);
  }

  private list(parts: readonly string[]): string {
    return `${this.protocol === 3 ? ">" : "*"}${parts.length}\r\n${parts.join("")}`;
  }

  private send(bytes: string, size: number): void {
    for (let at = 0; at < bytes.length; at += size) this.push(Buffer.from(bytes.slice(at, at + size)));
  }
}

function bulk(text: string): string {
  return `$${text.length}\r\n${text}\r\n`;
}

type Operation =
  | { readonly name: "get" | "stick" | "unstick" | "turn" }
  | { readonly name: "batch" | "calls"; readonly count: number }
  | { readonly name: "answer"; readonly count: number; readonly size: number; readonly isError: boolean }
  | { readonly name: "publish"; readonly kind: number; readonly channel: string }
  | { readonly name: "subscribe" | "unsubscribe"; readonly kind: number; readonly channels: string[] };

const kind = fc.integer({ min: 0, max: 2 });
const channel = fc.constantFrom("a", "b");
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Operation>({ name: "get" }, { name: "turn" }) },
  { weight: 1, arbitrary: fc.constantFrom<Operation>({ name: "stick" }, { name: "unstick" }) },
  {
    weight: 4,
    arbitrary: fc.record({ name: fc.constantFrom("batch", "calls"), count: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      name: fc.constant("answer"),
      count: fc.integer({ min: 1, max: 12 }),
      size: fc.integer({ min: 1, max: 40 }),
      isError: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.oneof(
      fc.record({
        name: fc.constant("subscribe"),
        kind,
        channels: fc.subarray(["a", "b"], { minLength: 1 }),
      }),
      fc.record({ name: fc.constant("unsubscribe"), kind, channels: fc.subarray(["a", "b"]) }),
      fc.record({ name: fc.constant("publish"), kind, channel }),
    ),
  },
) as fc.Arbitrary<Operation>;

class Bench {
  private readonly outcomes = new Map<string, string[]>();
  private readonly heard: string[] = [];
  private readonly subscriptions = new Subscriptions();
  private readonly peer: Peer;
  private readonly connection: Connection;
  private readonly errors: Error[] = [];
  private next = 0;
  private isClosed = false;

  constructor(protocol: 2 | 3) {
    this.peer = new Peer(protocol);
    const messages: MessageListener = {
      onMessage: (message) =>
        this.heard.push(
          `${message.kind} ${message.text(MessagePart.Channel)} ${message.text(MessagePart.Payload)}`,
        ),
      onShardLost() {},
      onOtherPush() {},
      onMonitorLine() {},
    };
    const options = {
      highWaterBytes: 100,
      disconnectTimeout: 1000,
      stringNumbers: false,
      socketTimeout: 0,
    };
    this.connection = new Connection(
      { ...options, flushPolicy: "adaptive", replyMapping: "legacy" },
      {
        subscriptions: this.subscriptions,
        messages,
        replies: null,
        tracer: null,
        life: {
          onOpen: () => {
            this.connection.setProtocol(protocol);
            this.connection.markReady();
          },
          onConnectionError: (error) => this.errors.push(error),
          onClose: () => {
            this.isClosed = true;
          },
        },
      },
    );
  }

  async run(steps: readonly Operation[]): Promise<void> {
    this.connection.attach(this.peer);
    await turn();
    for (const step of steps) {
      if (step.name === "turn") await turn();
      else this.step(step);
    }
    await this.lose();
    this.check();
  }

  private step(step: Operation): void {
    const { connection, peer } = this;
    if (step.name === "get") connection.dispatch(this.newEcho());
    else if (step.name === "batch") {
      connection.dispatchBatch(Array.from({ length: step.count }, () => this.newEcho()));
    } else if (step.name === "calls") this.callMany(step.count);
    else if (step.name === "answer") peer.answer(step.count, step.size, step.isError);
    else if (step.name === "publish") peer.publish(step.kind, step.channel, `m${this.next++}`);
    else if (step.name === "subscribe" || step.name === "unsubscribe") {
      const word = (KINDS[step.kind] as string).replace("sub", step.name === "subscribe" ? "sub" : "unsub");
      connection.dispatch(this.newCommand(word, step.channels, `${word} ${this.next++}`));
    } else peer.stick(step.name === "stick");
  }

  private newEcho(): Command {
    const number = String(this.next++);
    return this.newCommand("echo", [number], number);
  }

  private newCommand(word: string, args: string[], id: string): Command {
    this.outcomes.set(id, []);
    return new Command(specOf(word), args, false, {
      fulfil: (_command, value) => this.note(id, String(value)),
      reject: (_command, { message }) => this.note(id, message.slice(0, 3)),
    });
  }

  private callMany(count: number): void {
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    const commands = Array.from({ length: count }, () => this.newEcho());
    for (const command of commands) batch.add(command);
    this.connection.dispatchBatch(commands);
  }

  private note(id: string, outcome: string): void {
    this.outcomes.get(id)?.push(outcome);
  }

  private async lose(): Promise<void> {
    await turn();
    const { connection, peer } = this;
    const arrived = peer.requests.length;
    const isTaken = peer.writableLength === 0;
    peer.destroy();
    while (!this.isClosed) await turn();
    const { sent, unsent } = connection.queue.takeAll();
    // The peer may be stuck, with more in the buffer of the socket.
    if (isTaken) expect(sent.length).to.equal(arrived - peer.answered);
    else expect(sent.length).to.be.at.least(arrived - peer.answered);
    const numbers = peer.requests.map(([, argument]) => argument);
    for (const { spec, args } of unsent) if (spec.name === "echo") expect(numbers).to.not.include(args[0]);
    for (const command of [...sent, ...unsent]) command.fail(new Error("lost"));
  }

  private check(): void {
    expect(this.errors).to.deep.equal([]);
    for (const [id, outcomes] of this.outcomes) {
      expect(outcomes, id).to.have.length(1);
      const said = this.peer.said.get(id);
      if (said !== undefined) expect(outcomes[0], id).to.equal(said);
      else if (!id.includes("sub")) expect(outcomes[0], id).to.equal("los");
    }
    const told = [...this.outcomes].filter(([id]) => id.includes("sub")).map(([, [outcome]]) => outcome);
    const { counts } = this.peer;
    expect(told.slice(0, counts.length)).to.deep.equal(counts);
    expect(told.slice(counts.length).every((outcome) => outcome === "los")).to.equal(true);
    expect(this.heard).to.deep.equal(this.peer.sent);
    const inOrder = this.peer.requests
      .filter(([word]) => word === "echo")
      .map(([, number]) => Number(number));
    expect(inOrder).to.deep.equal(inOrder.toSorted((a, b) => a - b));
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a connection over a scripted socket", function () {
  this.timeout(60_000);

  for (const protocol of [2, 3] as const) {
    it(`settles every command with what the peer said about it, RESP${protocol}`, async () => {
      const steps = fc.array(operation, { maxLength: 40 });
      await fc.assert(
        fc.asyncProperty(steps, (all) => new Bench(protocol).run(all)),
        fixedRuns(300),
      );
    });
  }
});
