/** Commands that the table does not have, on scripted nodes: their keys, and the questions about unknown commands. */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { Redis } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture } from "../support/fake-cluster-fixture";
import type { FakeReply } from "../support/fake-server";

/** Calls, and which of the arguments are keys of one slot. */
const CALLS: readonly (readonly [line: string, keys: string])[] = [
  ["JSON.SET k $ 1", "0"],
  ["json.get k $", "0"],
  ["json.mget {k}1 {k}2 $", "0 1"],
  ["json.mset {k}1 $ 1 {k}2 $ 2", "0 3"],
  ["json.debug MEMORY k", "1"],
  ["json.debug HELP", ""],
  ["ft.search index query", ""],
  ["ft.create index SCHEMA a TEXT", ""],
  ["ft.sugadd k text 1", "0"],
  ["ts.add k 1 1", "0"],
  ["ts.madd {k}1 1 1 {k}2 1 1", "0 3"],
  ["ts.createrule {k}1 {k}2 AGGREGATION avg 10", "0 1"],
  ["ts.mrange - + FILTER a=b", ""],
  ["bf.add k a", "0"],
  ["cf.exists k a", "0"],
  ["cms.merge {k}d 2 {k}1 {k}2", "0 2 3"],
  ["topk.add k a", "0"],
  ["tdigest.merge {k}d 1 {k}1", "0 2"],
];

describe("cluster: commands beyond the table", () => {
  const fixture = new FakeClusterFixture().install();
  let asked: string[];

  /** Nodes answer what they were sent, and MOVED for keys that are not theirs, as real ones do. */
  function script(rules: Readonly<Record<string, readonly number[]>>): void {
    asked = [];
    fixture.fake.nodes.forEach((node, index) => {
      node.script = (words): FakeReply | undefined => {
        const [name = "", first = "", second = ""] = words;
        if (name === "command" && first === "INFO") {
          asked.push(second);
          const rule = rules[second];
          return rule === undefined ? [null] : [[second, -2, [], ...rule, []]];
        }
        const at = name.includes(".") ? (rules[name.toLowerCase()]?.[0] ?? 0) : 0;
        if (at === 0) return name.includes(".") ? words.join(" ") : undefined;
        const slot = calculateSlot(words[at] as string);
        const owner = slot < 8192 ? 0 : 1;
        return owner === index ? words.join(" ") : new Error(`MOVED ${slot} ${fixture.fake.node(owner).key}`);
      };
    });
  }

  const arrived = (name: string): number[] => fixture.fake.nodes.map((node) => node.received(name).length);

  it("module families go to the node of their key, with the prefix on all keys", async () => {
    script({});
    for (const keyPrefix of ["", "{p}:"]) {
      const cluster = fixture.connect({ keyPrefix });
      await untilClusterReady(cluster);
      for (const [line, keys] of CALLS) {
        const [name = "", ...args] = line.split(" ");
        const positions = keys === "" ? [] : keys.split(" ").map(Number);
        const expected = args.map((arg, i) => (positions.includes(i) ? keyPrefix + arg : arg));
        for (const node of fixture.fake.nodes) node.server.received.length = 0;
        const reply = await cluster.call(name, ...args);
        expect(reply, line).to.equal([name, ...expected].join(" "));
        const [row] = (await cluster.pipeline([["call", name.toLowerCase(), ...args]]).exec()) ?? [];
        expect(row?.[1], line).to.equal([name.toLowerCase(), ...expected].join(" "));
        if (positions.length === 0) continue;
        const owner = calculateSlot(expected[positions[0] as number] as string) < 8192 ? 0 : 1;
        expect(arrived(name.toLowerCase()), line).to.deep.equal(owner === 0 ? [2, 0] : [0, 2]);
      }
    }
    expect(asked).to.deep.equal([]);
  });

  it("of other modules are asked for once, and go to their node from then on", async () => {
    script({ "mine.put": [2, 2, 1], "mine.info": [0, 0, 0] });
    const cluster = fixture.connect({ keyPrefix: "p:" });
    await untilClusterReady(cluster);
    const keys = Array.from({ length: 50 }, (_, i) => `key:${i}`);
    for (const key of keys) {
      expect(await cluster.call("mine.put", "option", key)).to.equal(`mine.put option ${key}`);
      expect(await cluster.call("mine.info", "a")).to.equal("mine.info a");
      expect(await cluster.call("mine.none", "a")).to.equal("mine.none a");
    }
    expect(asked.sort()).to.deep.equal(["mine.info", "mine.none", "mine.put"]);
    // The first may have been redirected.
    const total = arrived("mine.put").reduce((sum, count) => sum + count, 0);
    expect(total).to.be.within(50, 52);
    expect(arrived("mine.info").every((count) => count > 0)).to.equal(true);
  });

  it("asks again when the question was not answered", async () => {
    script({ "mine.get": [1, 1, 1] });
    const refusals = fixture.fake.nodes.map((node) => {
      const { script } = node;
      let left = 1;
      node.script = (words, connection) =>
        words[0] === "command" && left-- > 0 ? new Error("NOPERM no") : script?.(words, connection);
      return () => left;
    });
    const cluster = fixture.connect();
    await untilClusterReady(cluster);
    for (let i = 0; i < 10; i++) expect(await cluster.call("mine.get", "foo")).to.equal("mine.get foo");
    expect(asked).to.deep.equal(["mine.get"]);
    expect(refusals.some((left) => left() < 1)).to.equal(true);
  });

  it("addBuiltinCommand(name, { keys }) states where the keys are", async () => {
    script({ "stated.put": [2, -1, 2] });
    const cluster = fixture.connect({ keyPrefix: "{p}" });
    cluster.addBuiltinCommand("stated.put", { keys: { first: 2, last: -1, step: 2 } });
    await untilClusterReady(cluster);
    const put = (cluster as unknown as Record<string, (...args: string[]) => Promise<unknown>>)["stated.put"];
    const line = "stated.put x {p}a 1 {p}b 2";
    expect(await put?.call(cluster, "x", "a", "1", "b", "2")).to.equal(line);
    expect(await cluster.call("STATED.PUT", "x", "a", "1", "b", "2")).to.equal(
      line.replace("stated.put", "STATED.PUT"),
    );
    const rows = await cluster.pipeline([["stated.put", "x", "a", "1"]]).exec();
    expect(rows).to.deep.equal([[null, "stated.put x {p}a 1"]]);
    expect(arrived("stated.put").sort()).to.deep.equal([0, 3]);
    expect(asked).to.deep.equal([]);
  });

  it("addBuiltinCommand refuses what are no places", () => {
    const redis = new Redis({ lazyConnect: true });
    for (const keys of [{ first: -1 }, { first: 1.5 }, { first: 2, last: 1 }, { first: 1, step: 0 }]) {
      expect(() => redis.addBuiltinCommand("some.command", { keys })).to.throw(/first, last, step/);
    }
    // Its own keys a command of the table keeps.
    redis.addBuiltinCommand("get", { keys: { first: 2 } });
    redis.disconnect();
  });
});
