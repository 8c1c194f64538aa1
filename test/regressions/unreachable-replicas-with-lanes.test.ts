/**
 * Reads of a replica that is gone are answered by the master, also with several connections to each
 * node: when the first of them has failed, the node is known to be down before the others have ended.
 */

import { expect } from "chai";
import { untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture, OTHER, OWNER } from "../support/fake-cluster-fixture";
import type { FakeReply } from "../support/fake-server";

describe("cluster: a replica that is gone, with lanes", () => {
  const fixture = new FakeClusterFixture().install();

  it("leaves its reads to the master", async () => {
    const address = (one: number): FakeReply[] => {
      const { host, port } = fixture.fake.node(one).server;
      return [host, port, `id${one}`];
    };
    const table: FakeReply = [[0, 16383, address(OWNER), address(OTHER)]];
    fixture.fake.slots = () => table;
    for (const one of [OWNER, OTHER])
      fixture.fake.node(one).script = ([name]) => (name === "get" ? `node ${one}` : undefined);
    const cluster = fixture.connect({ scaleReads: "slave", redisOptions: { connections: { lanes: 2 } } });
    await untilClusterReady(cluster);
    const read = (): Promise<(string | null)[]> =>
      Promise.all(Array.from({ length: 8 }, (_, i) => cluster.get(`key:${i}`)));
    expect(new Set(await read())).to.deep.equal(new Set([`node ${OTHER}`]));
    await fixture.fake.node(OTHER).server.stop();
    expect(new Set(await read())).to.deep.equal(new Set([`node ${OWNER}`]));
  });
});
