/** Pushes of pub/sub: what is confirmed, to which command, and what the server did without being asked. */

import { expect } from "chai";
import fc from "fast-check";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, CommandState } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { CommandQueue } from "../../../src/connection/command-queue";
import { type MessageListener, PushRouter } from "../../../src/connection/push-router";
import { SubscriptionKind, Subscriptions } from "../../../src/connection/subscriptions";
import { ParserError } from "../../../src/errors";
import { MessagePart } from "../../../src/protocol/message";
import { Decode, type Reply } from "../../../src/protocol/resp-types";
import { fixedRuns } from "../../support/properties";

const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;
const { Channel, Pattern, Shard } = SubscriptionKind;
const PREFIXES = { [Channel]: "", [Pattern]: "p", [Shard]: "s" };
const KINDS = [Channel, Pattern, Shard];

describe("PushRouter", () => {
  let queue: CommandQueue;
  let subscriptions: Subscriptions;
  let router: PushRouter;
  let told: string[];

  const listener: MessageListener = {
    onMessage: (message) => {
      const pattern = message.kind === "pmessage" ? ` ${message.text(MessagePart.Pattern)}` : "";
      told.push(
        `${message.kind}${pattern} ${message.text(MessagePart.Channel)} ${message.text(MessagePart.Payload)}`,
      );
    },
    onShardLost: (channel) => void told.push(`lost ${channel}`),
    onOtherPush: (kind, message) => void told.push(`other ${kind} ${message.length}`),
    onMonitorLine: () => void told.push("monitor"),
  };

  beforeEach(() => make());

  afterEach(() => {
    for (const entry of queue.pending())
      if (entry instanceof Command) entry.fail(new Error("the test is over"));
  });

  function make(messages: MessageListener | null = listener, stringNumbers = false): void {
    queue = new CommandQueue();
    subscriptions = new Subscriptions();
    told = [];
    router = new PushRouter(queue, { subscriptions, messages }, stringNumbers ? Decode.StringNumbers : 0);
  }

  /** A command that was written; its answer is told. */
  function send(name: string, ...args: (string | Buffer)[]): Command {
    const words = [name, ...args].join(" ");
    const command = new Command(specOf(name), args, false, {
      fulfil: (_command, value) => void told.push(`${words}: ${JSON.stringify(value)}`),
      reject: (_command, { message }) => void told.push(`${words} failed: ${message}`),
    });
    queue.push(command);
    queue.takeUnsent();
    command.state = CommandState.Sent;
    return command;
  }

  /** A push with texts as bytes, as a server sends them. */
  function push(...words: Reply[]): boolean {
    return router.route(
      words.map((word) => (typeof word === "string" ? Buffer.from(word) : word)),
      SHAPE,
    );
  }

  function names(kind: SubscriptionKind): string[] {
    return subscriptions.names(kind).map(String).sort();
  }

  it("hands messages of each kind to who listens, and asks no command about them", () => {
    send("get", "k");
    expect(push("message", "c", "1")).to.equal(true);
    expect(push("smessage", "s", "2")).to.equal(true);
    expect(push("pmessage", "c*", "c1", "3")).to.equal(true);
    expect(told).to.deep.equal(["message c 1", "smessage s 2", "pmessage c* c1 3"]);
    expect(queue.inFlight).to.equal(1);
  });

  it("knows nothing of other kinds", () => {
    const message = [Buffer.from("invalidate"), null];
    expect(router.route(message, SHAPE)).to.equal(false);
    expect(told).to.deep.equal([]);
  });

  it("passes over what nobody listens to, and settles its commands all the same", () => {
    make(null);
    send("ssubscribe", "s");
    expect([
      push("message", "c", "1"),
      push("ssubscribe", "s", 1),
      push("sunsubscribe", "s", 0),
    ]).to.deep.equal([true, true, true]);
    expect([told, names(Shard)]).to.deep.equal([["ssubscribe s: 1"], []]);
  });

  for (const kind of KINDS) {
    const prefix = PREFIXES[kind];
    it(`keeps a ${prefix}subscribe at the head until all its names are confirmed`, () => {
      send(`${prefix}subscribe`, "a", "b", "b");
      send("get", "k");
      push(`${prefix}subscribe`, "a", 1);
      push(`${prefix}subscribe`, "b", 2);
      expect([told, names(kind)]).to.deep.equal([[], ["a", "b"]]);
      push(`${prefix}subscribe`, "b", 2);
      expect([told, queue.head()?.isSettled]).to.deep.equal([[`${prefix}subscribe a b b: 2`], false]);
      const others = KINDS.filter((one) => one !== kind);
      expect(others.map(names)).to.deep.equal([[], []]);
    });

    it(`waits without names for as many as are subscribed, once if there is none (${prefix}unsubscribe)`, () => {
      for (const name of ["a", "b"]) subscriptions.add(kind, Buffer.from(name));
      send(`${prefix}unsubscribe`);
      send(`${prefix}unsubscribe`);
      push(`${prefix}unsubscribe`, "a", 1);
      expect([told, names(kind)]).to.deep.equal([[], ["b"]]);
      push(`${prefix}unsubscribe`, "b", 0);
      expect(told).to.deep.equal([`${prefix}unsubscribe: 0`]);
      push(`${prefix}unsubscribe`, null, 0);
      expect(told).to.deep.equal([`${prefix}unsubscribe: 0`, `${prefix}unsubscribe: 0`]);
    });
  }

  it("gives counts as texts where numbers are texts", () => {
    make(listener, true);
    send("subscribe", "a");
    push("subscribe", "a", 1);
    expect(told).to.deep.equal(['subscribe a: "1"']);
  });

  it("takes names byte for byte", () => {
    const name = Buffer.from([0xff, 0xfe]);
    subscriptions.add(Shard, name);
    const command = send("sunsubscribe", name);
    expect(router.route([Buffer.from("sunsubscribe"), Buffer.from([0xff, 0xfd]), 1], SHAPE)).to.equal(true);
    expect([command.isSettled, subscriptions.size(Shard)]).to.deep.equal([false, 1]);
    router.route([Buffer.from("sunsubscribe"), Buffer.from(name), 0], SHAPE);
    expect([command.isSettled, subscriptions.size(Shard)]).to.deep.equal([true, 0]);
  });

  it("says which channels a node gave up by itself, whatever command is due", () => {
    for (const name of ["a", "b", "c", "d"]) subscriptions.add(Shard, Buffer.from(name));
    push("sunsubscribe", "a", 3);
    send("get", "k");
    push("sunsubscribe", "b", 2);
    queue.shift()?.fulfil("v", SHAPE);
    const leaving = send("sunsubscribe", "d");
    push("sunsubscribe", "c", 1);
    expect([told.filter((one) => one.startsWith("lost")), leaving.isSettled, names(Shard)]).to.deep.equal([
      ["lost a", "lost b", "lost c"],
      false,
      ["d"],
    ]);
    push("sunsubscribe", "d", 0);
    expect([leaving.isSettled, told.at(-1)]).to.deep.equal([true, "sunsubscribe d: 0"]);
  });

  it("notes confirmations of other kinds that nobody asked for, and settles nothing with them", () => {
    const asking = send("subscribe", "a");
    push("unsubscribe", "x", 0);
    push("psubscribe", "a", 1);
    push("sunsubscribe", null, 0);
    expect([asking.isSettled, told, names(Pattern), names(Channel)]).to.deep.equal([false, [], ["a"], []]);
  });

  it("is an answer from the first name on: what the command is a part of does not go again", () => {
    const command = send("subscribe", "a", "b");
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    batch.add(command);
    push("psubscribe", "a", 1);
    expect(batch.isAnswered).to.equal(false);
    push("subscribe", "a", 1);
    expect([batch.isAnswered, command.isSettled]).to.deep.equal([true, false]);
  });

  it("refuses what is no name or has no payload", () => {
    for (const words of [
      ["message", "c"],
      ["pmessage", "c*", "c1"],
      ["message", 1, "text"],
      ["pmessage", null, "c", "text"],
      ["subscribe", 1, 1],
      ["unsubscribe"],
    ] as Reply[][])
      expect(() => push(...words), words.join()).to.throw(ParserError, "Protocol error");
    expect(told).to.deep.equal([]);
  });

  it("agrees with the server about what is subscribed, whatever is asked and taken away", () => {
    const kindOf = fc.constantFrom(Channel, Pattern, Shard);
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          isEntry: fc.constant(true),
          kind: kindOf,
          of: fc.subarray(["a", "b", "c"], { minLength: 1 }),
        }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ isEntry: fc.constant(false), kind: kindOf, of: fc.subarray(["a", "b", "c"]) }),
      },
      { weight: 3, arbitrary: fc.record({ answers: fc.integer({ min: 1, max: 5 }) }) },
      { weight: 1, arbitrary: fc.record({ takes: fc.constantFrom("a", "b", "c") }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        make();
        const server = {
          [Channel]: new Set<string>(),
          [Pattern]: new Set<string>(),
          [Shard]: new Set<string>(),
        };
        const due: Reply[][] = [];
        const asked: Command[] = [];
        let taken = 0;
        const say = (count: number): void => {
          for (const words of due.splice(0, count)) push(...words);
        };
        for (const one of steps) {
          if ("answers" in one) say(one.answers);
          else if ("takes" in one) {
            // As a slot moves away: in the order of what the server says otherwise.
            if (!server[Shard].delete(one.takes)) continue;
            due.push(["sunsubscribe", one.takes, server[Shard].size]);
            taken++;
          } else {
            const set = server[one.kind];
            const word = `${PREFIXES[one.kind]}${one.isEntry ? "" : "un"}subscribe`;
            const all = one.of.length > 0 ? one.of : [...set];
            asked.push(send(word, ...one.of));
            for (const name of all) {
              if (one.isEntry) set.add(name);
              else set.delete(name);
              due.push([word, name, set.size]);
            }
            if (all.length === 0) due.push([word, null, 0]);
          }
        }
        say(due.length);
        for (const kind of KINDS) expect(names(kind)).to.deep.equal([...server[kind]].sort());
        // What the server took away may stand for an answer; then the answer stands for it.
        if (taken > 0) return;
        expect(told.filter((text) => text.startsWith("lost"))).to.deep.equal([]);
        expect(asked.every(({ isSettled }) => isSettled)).to.equal(true);
        expect(queue.length).to.equal(0);
      }),
      fixedRuns(500),
    );
  });
});
