/** Commands that several nodes run: how they are divided, what becomes of the answers, and what goes to one node as it is. */

import { expect } from "chai";
import { FanOut } from "../../../src/client/whole-cluster/fan-out";
import { fanOutPolicyFor } from "../../../src/client/whole-cluster/fan-out-policy";
import { ClusterNode } from "../../../src/cluster/cluster-node";
import type { FanOutPart } from "../../../src/cluster/router";
import { Command, CommandState, issuedBy, Origin, sentFor, UNROUTED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { NO_SLOT, slotOfKey } from "../../../src/command/slot";

const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

/** Of three slots: k1, k2 and k3; those in braces are of the slot of k1. */
const [K1, K2, K3] = [slotOfKey("k1"), slotOfKey("k2"), slotOfKey("k3")];

function command(name: string, ...args: (string | Buffer)[]): Command {
  const completion = new PromiseCompletion();
  completion.promise.catch(() => {});
  return new Command(specOf(name), args, false, completion);
}

const [first, second, replica] = [1, 2, 3].map((port) => new ClusterNode({ host: "h", port })) as [
  ClusterNode,
  ClusterNode,
  ClusterNode,
];

/** Divides one command and says what goes where; the test answers. */
function fanOut(
  whole: Command,
  owners: readonly [ClusterNode, number][] = [
    [first, 7],
    [second, 9],
  ],
) {
  const parts = new FanOut({ owners: () => new Map(owners), all: () => [first, second, replica] }).plan(
    whole,
  );
  if (parts === null) throw new Error("not divided");
  return parts;
}

const words = (parts: readonly FanOutPart[]): unknown[] =>
  parts.map(({ command: { slot, args }, node }) => [slot, node, args.map(String).join(" ")]);

function answer(parts: readonly FanOutPart[], ...replies: unknown[]): void {
  for (const [i, reply] of replies.entries()) {
    const part = parts[i]?.command as Command;
    if (reply instanceof Error) part.fail(reply);
    else part.fulfil(reply, SHAPE);
  }
}

describe("FanOut", () => {
  const plan = (whole: Command): FanOutPart[] | null =>
    new FanOut({
      owners: () =>
        new Map([
          [first, 7],
          [second, 9],
        ]),
      all: () => [first, second],
    }).plan(whole);

  it("divides by slot, one part for each, and keeps keys with their values", () => {
    const whole = command("mset", "k1", "a", "k2", "b", "{k1}x", "c", "k3", "d");
    expect(words(fanOut(whole))).to.deep.equal([
      [K1, null, "k1 a {k1}x c"],
      [K2, null, "k2 b"],
      [K3, null, "k3 d"],
    ]);
    expect(whole.slot, "the whole is of no slot").to.equal(NO_SLOT);
  });

  it("puts the values of MGET back to the places of their keys, in whatever order the parts answer", async () => {
    const whole = command("mget", "k2", "k1", "k2", "{k1}x");
    const parts = fanOut(whole);
    expect(words(parts)).to.deep.equal([
      [K2, null, "k2 k2"],
      [K1, null, "k1 {k1}x"],
    ]);
    answer([...parts].reverse(), ["one", null], ["two", "two again"]);
    expect(await whole.promise).to.deep.equal(["two", "one", "two again", null]);
  });

  it("adds numbers, and answers only when the last part has", async () => {
    const whole = command("del", "k1", "k2", "k3");
    const parts = fanOut(whole);
    answer(parts.slice(0, 2), 1, 0);
    expect(whole.isSettled).to.equal(false);
    answer(parts.slice(2), 1);
    expect(await whole.promise).to.equal(2);
  });

  it("fails with the first error by place, when all parts are over", async () => {
    const whole = command("unlink", "k1", "k2", "k3");
    const parts = fanOut(whole);
    answer([...parts].reverse(), new Error("third"), 1);
    expect(whole.isSettled).to.equal(false);
    answer(parts, new Error("first"));
    const error = await whole.promise.then(
      () => null,
      (reason: Error) => reason,
    );
    expect(error?.message).to.equal("first");
  });

  it("leaves alone what one node can do, what must not be divided, and its own parts", () => {
    for (const whole of [
      command("mget", "k1", "{k1}x"),
      command("mget", "k1"),
      command("get", "k1"),
      command("echo", "k1"),
      command("msetnx", "k1", "a", "k2", "b"),
      command("sunion", "k1", "k2"),
      issuedBy(Origin.Part, command("dbsize")),
      issuedBy(Origin.Part, command("mget", "k1", "k2")),
    ]) {
      expect(plan(whole), whole.name).to.equal(null);
      expect(whole.slot, whole.name).to.equal(UNROUTED);
    }
  });

  it("sends to a slot of every master what all shards have to do, with arguments of its own", async () => {
    const whole = command("keys", "a*");
    const parts = fanOut(whole);
    expect(words(parts)).to.deep.equal([
      [7, null, "a*"],
      [9, null, "a*"],
    ]);
    expect(parts[0]?.command.args).to.not.equal(parts[1]?.command.args);
    expect(parts.every(({ command: { origin } }) => origin === Origin.Part)).to.equal(true);
    answer(parts, ["a1"], ["a2", "a3"]);
    expect(await whole.promise).to.deep.equal(["a1", "a2", "a3"]);
  });

  it("sends to replicas themselves what all nodes have to do", () => {
    const whole = command("config", "SET", "maxmemory", "0");
    expect(words(fanOut(whole))).to.deep.equal([
      [7, null, "SET maxmemory 0"],
      [9, null, "SET maxmemory 0"],
      [UNROUTED, replica, "SET maxmemory 0"],
    ]);
  });

  it("looks at the subcommand: one word has several policies", () => {
    expect(plan(command("config", "GET", "maxmemory"))).to.equal(null);
    expect(plan(command("script", "EXISTS", "abc"))).to.have.length(2);
    expect(plan(command("script", "KILL"))).to.have.length(2);
  });

  it("does not divide while no master is known", () => {
    const none = new FanOut({ owners: () => new Map(), all: () => [] });
    expect(none.plan(command("dbsize"))).to.equal(null);
    expect(none.plan(command("himport", "PREPARE", "f", "a"))).to.equal(null);
  });

  it("maps the reply once, when it is one", async () => {
    const whole = command("hgetall", "k1");
    whole.spec = Object.assign(Object.create(Object.getPrototypeOf(specOf("dbsize"))), specOf("dbsize"), {
      replyMapper: ((reply: number) => `${reply} keys`) as never,
    });
    const parts = fanOut(whole);
    expect(parts.every(({ command: { spec } }) => spec.replyMapper === null)).to.equal(true);
    answer(parts, 2, 3);
    expect(await whole.promise).to.equal("5 keys");
  });

  it("hands the retry policy of the call to its parts", () => {
    const whole = command("dbsize");
    whole.ensureExtra().retryPolicy = "at-most-once";
    for (const { command: part } of fanOut(whole)) expect(part.extra?.retryPolicy).to.equal("at-most-once");
    for (const { command: part } of fanOut(command("dbsize"))) expect(part.extra).to.equal(null);
  });

  it("gives up its parts with the whole, and takes their answers for nothing", async () => {
    const whole = command("del", "k1", "k2");
    const parts = fanOut(whole);
    answer(parts, 1);
    whole.fail(new Error("given up"));
    expect(parts.every(({ command: part }) => part.isSettled)).to.equal(true);
    answer(parts, 5, 5);
    const error = await whole.promise.then(
      () => null,
      (reason: Error) => reason,
    );
    expect(error?.message).to.equal("given up");
  });

  it("tells how far its parts are, for the error of a time limit", () => {
    const whole = command("del", "k1", "k2");
    whole.ensureExtra();
    const [one, two] = fanOut(whole).map((part) => part.command) as [Command, Command];
    const sent = whole.extra?.sentAs;
    expect(sent).to.include({ state: CommandState.Created, slot: K1, mayHaveRun: false });
    two.state = CommandState.Sent;
    expect(sent).to.include({ state: CommandState.Sent, slot: K2, extra: two.extra, mayHaveRun: false });
    two.fulfil(1, SHAPE);
    expect(sent, "one part has run").to.include({ state: CommandState.Sent, slot: K2 });
    one.mayHaveRun = true;
    expect(sent).to.include({ mayHaveRun: true });
    whole.fail(new Error("given up"));
  });

  it("has run in part when the only answered part was merged with others", () => {
    const whole = command("mget", "k1", "k2");
    whole.ensureExtra();
    const [one, two] = fanOut(whole).map((part) => part.command) as [Command, Command];
    const merged = command("mget", "k2");
    two.ensureExtra().sentAs = merged;
    merged.state = CommandState.Settled;
    two.fulfil(["two"], SHAPE);
    expect(one.isSettled).to.equal(false);
    expect(sentFor(whole)).to.include({ state: CommandState.Sent, slot: merged.slot });
    whole.fail(new Error("given up"));
  });

  it("announces to every master what its connections have to know of HIMPORT", async () => {
    const owners = new Map([
      [first, 7],
      [second, 9],
    ]);
    const announcing = new FanOut({ owners: () => owners, all: () => [first, second, replica] });
    const whole = command("himport", "prepare", "f", "a");
    const parts = announcing.plan(whole) as FanOutPart[];
    expect(words(parts)).to.deep.equal([
      [7, null, "prepare f a"],
      [9, null, "prepare f a"],
    ]);
    answer(parts, "OK", "OK");
    expect(await whole.promise).to.equal("OK");
    expect(announcing.plan(command("himport", "SET", "k", "f", "a"))).to.equal(null);
    expect(announcing.plan(issuedBy(Origin.Part, command("himport", "DISCARDALL")))).to.equal(null);
    expect(announcing.plan(command("himport"))).to.equal(null);
  });
});

describe("fan-out policies", () => {
  it("are the server's tips", () => {
    const policy = (word: string, ...args: string[]) => {
      const { request, response } = fanOutPolicyFor(specOf(word), args);
      return `${request} ${response}`;
    };
    expect(policy("del", "a", "b")).to.equal("multi_shard agg_sum");
    expect(policy("mget", "a")).to.equal("multi_shard default");
    expect(policy("mset", "a", "1")).to.equal("multi_shard all_succeeded");
    expect(policy("DBSIZE")).to.equal("all_shards agg_sum");
    expect(policy("script", "EXISTS", "x")).to.equal("all_shards agg_logical_and");
    expect(policy("script", "kill")).to.equal("all_shards one_succeeded");
    expect(policy("script", "flush")).to.equal("all_nodes all_succeeded");
    expect(policy("script", "help")).to.equal("default default");
    expect(policy("get", "a")).to.equal("default default");
    expect(policy("JSON.GET", "a")).to.equal("default default");
  });
});
