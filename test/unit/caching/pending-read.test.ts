/** Reads that are on their way, and the calls that wait for their answers. */

import { expect } from "chai";
import { type CachedReply, KeyNode, type Question } from "../../../src/caching/cache-store";
import { PendingRead } from "../../../src/caching/pending-read";
import { specOf } from "../../../src/command/command-table";

describe("PendingRead", () => {
  const question = (name: string, args: string[], wantsBuffers = false): Question => ({
    spec: specOf(name),
    args,
    wantsBuffers,
  });

  function read(asked: Question, keys = [asked.args[0] as string]): PendingRead {
    const nodes = keys.map((key) => new KeyNode(key));
    return new PendingRead(nodes, asked, 100, 1000);
  }

  it("uses the node of each of its keys, so that none is forgotten", () => {
    const { nodes } = read(question("mget", ["a", "b"]), ["a", "b"]);
    expect(nodes.map(({ uses }) => uses)).to.deep.equal([1, 1]);
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
});
