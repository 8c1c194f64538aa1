/** The slot of a key is the one that servers compute, for keys with odd braces, lone surrogates and any bytes too. */

import { expect } from "chai";
import { slotOfKey } from "../../src/command/slot";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { randomSource } from "../support/random";

const fixture = new ClusterFixture();
const KEYS = 30_000;
const LONGEST = 12;
const UNITS = ["{", "}", "{}", "a", "b", "\u0000", "é", "ключ", "😀", "\ud800", "\udc00"];

function oddKey(random: () => number): string | Buffer {
  const below = (limit: number): number => Math.floor(random() * limit);
  const text = Array.from({ length: below(LONGEST) }, () => UNITS[below(UNITS.length)]).join("");
  return below(4) === 0 ? Buffer.from(text, "latin1") : text;
}

describe("cluster: slots of keys", () => {
  fixture.install();

  it("are those of CLUSTER KEYSLOT", async () => {
    const random = randomSource(1);
    const keys = Array.from({ length: KEYS }, () => oddKey(random));
    const cluster = fixture.connect();
    await untilClusterReady(cluster);
    const [node] = cluster.nodes("master");
    if (node === undefined) throw new Error("the cluster has no master");
    const pipeline = node.pipeline();
    for (const key of keys) pipeline.call("CLUSTER", "KEYSLOT", key);
    const rows = (await pipeline.exec()) ?? [];
    const wrong = keys.filter((key, index) => rows[index]?.[1] !== slotOfKey(key));
    expect(rows).to.have.length(KEYS);
    expect(wrong).to.deep.equal([]);
  });
});
