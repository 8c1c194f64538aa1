/** Reads that are on their way, and the calls that wait for their answers. */

import { expect } from "chai";
import { type CachedReply, KeyNode, type Question } from "../../../src/caching/cache-store";
import { PendingRead, PendingReads } from "../../../src/caching/pending-read";
import { Command, IGNORED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";

const TERMS = { epoch: 1, bornMs: 100, ttlMs: 1000, asksTtl: false };

describe("PendingRead", () => {
  let told: unknown[][];

  beforeEach(() => {
    told = [];
  });

  const question = (name: string, args: string[], wantsBuffers = false): Question => ({
    spec: specOf(name),
    args,
    wantsBuffers,
  });

  function read(
    asked: Question,
    terms: Partial<typeof TERMS> = {},
    keys = [asked.args[0] as string],
  ): PendingRead {
    const listener = {
      onAnswered: (one: PendingRead, value: unknown) => void told.push(["answered", one, value]),
      onFailed: (one: PendingRead, error: Error) => void told.push(["failed", one, error]),
    };
    const nodes = keys.map((key) => new KeyNode(key)) as [KeyNode, ...KeyNode[]];
    return new PendingRead(listener, nodes, asked, { ...TERMS, ...terms });
  }

  it("uses the node of each of its keys, so that none is forgotten", () => {
    const { nodes } = read(question("mget", ["a", "b"]), {}, ["a", "b"]);
    expect(nodes.map(({ uses, isEmpty }) => [uses, isEmpty])).to.deep.equal([
      [1, false],
      [1, false],
    ]);
  });

  it("tells its listener how it has ended", () => {
    const one = read(question("get", ["a"]));
    const error = new Error("no");
    one.onSettled(null, "value");
    one.onSettled(error);
    expect(told).to.deep.equal([
      ["answered", one, "value"],
      ["failed", one, error],
    ]);
  });

  it("is joined by those who ask exactly the same", () => {
    const one = read(question("hmget", ["a", "x", "y"]));
    const isFor = (...asked: Parameters<typeof question>): boolean => one.isFor(question(...asked));
    expect(isFor("hmget", ["a", "x", "y"])).to.equal(true);
    for (const [name, args, wantsBuffers] of [
      ["hget", ["a", "x", "y"], false],
      ["hmget", ["a", "x", "y"], true],
      ["hmget", ["a", "x"], false],
      ["hmget", ["a", "x", "y", "z"], false],
      ["hmget", ["a", "y", "x"], false],
    ] as const) {
      expect(isFor(name, [...args], wantsBuffers), `${name} ${args} ${wantsBuffers}`).to.equal(false);
    }
  });

  it("keeps those that wait for it in the order in which they came", () => {
    const one = read(question("get", ["a"]));
    const commands = ["1", "2", "3"].map((name) => new Command(specOf("get"), [name], false, IGNORED));
    expect(one.followers).to.equal(null);
    for (const command of commands) one.join(command);
    expect(one.followers).to.deep.equal(commands);
  });

  it("is out of date when everything, or one of its keys, was dropped since", () => {
    const one = read(question("mget", ["a", "b"]), {}, ["a", "b"]);
    expect([one.isUpToDate(1), one.isUpToDate(2)]).to.deep.equal([true, false]);
    (one.nodes[1] as KeyNode).isGone = true;
    expect(one.isUpToDate(1)).to.equal(false);
  });

  it("asks for the time to live of a key only if it is told to, and has no other key", () => {
    expect(read(question("get", ["a"]), { asksTtl: true }).expiringKey).to.equal("a");
    expect(read(question("get", ["a"])).expiringKey).to.equal(null);
    expect(read(question("mget", ["a", "b"]), { asksTtl: true }, ["a", "b"]).expiringKey).to.equal(null);
  });

  it("counts the time to live from its question, and never makes what is kept live longer", () => {
    const one = read(question("get", ["a"]));
    one.onTimeToLive(5);
    const kept = { expiresAtMs: 1100 } as CachedReply;
    one.kept = kept;
    one.onTimeToLive(-1);
    expect(kept.expiresAtMs, "no expiry").to.equal(1100);
    one.onTimeToLive(5000);
    expect(kept.expiresAtMs, "a later one").to.equal(1100);
    one.onTimeToLive(50);
    expect(kept.expiresAtMs).to.equal(150);
    one.onTimeToLive(0);
    expect(kept.expiresAtMs, "at once").to.equal(100);
  });

  it("is found by its first key, its question, and when it was issued", () => {
    const reads = new PendingReads();
    const get = read(question("get", ["a"]));
    const strlen = read(question("strlen", ["a"]), { bornMs: 200 });
    for (const one of [get, strlen]) reads.add(one);
    const find = (name: string, key: string, epoch = 1, sinceMs = 0) =>
      reads.find(key, question(name, [key]), epoch, sinceMs);
    expect([find("get", "a"), find("strlen", "a")]).to.deep.equal([get, strlen]);
    expect([find("get", "b"), find("type", "a"), find("get", "a", 2)]).to.deep.equal(
      Array(3).fill(undefined),
    );
    expect([find("get", "a", 1, 100), find("get", "a", 1, 101)]).to.deep.equal([get, undefined]);
  });

  it("is found no more once it has ended, and the others of its key are", () => {
    const reads = new PendingReads();
    const [first, second, stranger] = ["get", "strlen", "type"].map((name) => read(question(name, ["a"])));
    reads.add(first as PendingRead);
    reads.add(second as PendingRead);
    reads.delete(first as PendingRead);
    const find = (name: string) => reads.find("a", question(name, ["a"]), 1, 0);
    expect([find("get"), find("strlen")]).to.deep.equal([undefined, second]);
    reads.delete(second as PendingRead);
    expect(find("strlen")).to.equal(undefined);
    reads.delete(stranger as PendingRead);
    expect(
      (reads as unknown as { reads: Map<string, unknown> }).reads.size,
      "no key is left behind",
    ).to.equal(0);
  });
});
