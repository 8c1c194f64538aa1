/**
 * Commands without keys in a pipeline go where its keyed commands go: to the node of the nearest
 * one before, else of the first one after. SCRIPT LOAD and EVALSHA in one pipeline depend on it.
 */

import { createHash } from "node:crypto";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import type { FakeNode } from "../support/fake-cluster";
import { FakeClusterFixture, KEY, OTHER, OWNER } from "../support/fake-cluster-fixture";
import { status } from "../support/fake-server";

/** A key of the node that does not serve `KEY`. */
const ELSEWHERE = "bar";

describe("cluster: commands without keys in a pipeline", () => {
  const fixture = new FakeClusterFixture().install();

  function messagesAt(index: number): string[] {
    return fixture.fake
      .node(index)
      .received("publish")
      .map(([, , text = ""]) => text);
  }

  async function connect(): Promise<Cluster> {
    for (const node of fixture.fake.nodes) {
      node.script = ([name]) => (name === "publish" ? 0 : name === "exec" ? [] : undefined);
    }
    const cluster = fixture.connect();
    await untilClusterReady(cluster);
    return cluster;
  }

  it("follow the nearest command with keys before them", async () => {
    const cluster = await connect();
    for (let round = 0; round < 6; round++) {
      const pipeline = cluster.pipeline().get(KEY).publish("c", "owner").publish("c", "owner");
      await pipeline.get(ELSEWHERE).publish("c", "other").get(KEY).publish("c", "owner").exec();
    }
    expect(messagesAt(OWNER)).to.deep.equal(new Array(18).fill("owner"));
    expect(messagesAt(OTHER)).to.deep.equal(new Array(6).fill("other"));
  });

  it("follow the first one after them when none is before", async () => {
    const cluster = await connect();
    for (let round = 0; round < 12; round++) {
      await cluster.pipeline().publish("c", "owner").publish("c", "owner").get(KEY).get(ELSEWHERE).exec();
    }
    expect(messagesAt(OWNER)).to.have.length(24);
    expect(messagesAt(OTHER)).to.deep.equal([]);
  });

  it("follow the keys of a transaction in the pipeline, and so does a transaction without keys", async () => {
    const queue = (node: FakeNode): void => {
      node.script = ([name = ""]) => {
        if (name === "exec") return [];
        return name === "publish" ? status("QUEUED") : name === "multi" ? status("OK") : undefined;
      };
    };
    const cluster = await connect();
    fixture.fake.nodes.forEach(queue);
    for (let round = 0; round < 12; round++) {
      await cluster.pipeline().publish("c", "before").multi().get(KEY).exec();
      await cluster.pipeline([["multi"], ["publish", "c", "inside"], ["exec"], ["get", KEY]]).exec();
    }
    expect(messagesAt(OTHER)).to.deep.equal([]);
  });

  it("without any keys share one node", async () => {
    const cluster = await connect();
    for (let round = 0; round < 8; round++) {
      await cluster.pipeline().publish("c", `${round}`).publish("c", `${round}`).exec();
    }
    for (const index of [OWNER, OTHER]) {
      const rounds = messagesAt(index);
      for (const round of new Set(rounds)) expect(rounds.filter((one) => one === round)).to.have.length(2);
    }
  });
});

describe("cluster: SCRIPT LOAD and EVALSHA in one pipeline", () => {
  const fixture = new ClusterFixture(ServerKind.Redis);
  fixture.install();

  it("meet at one node", async () => {
    const cluster = fixture.connect({ scaleReads: "slave" });
    await untilClusterReady(cluster);
    for (let round = 0; round < 60; round++) {
      const lua = `return '${round}'`;
      const sha = createHash("sha1").update(lua).digest("hex");
      const rows = await cluster.pipeline().script("LOAD", lua).evalsha(sha, 1, `key:${round}`).exec();
      expect(rows).to.deep.equal([
        [null, sha],
        [null, `${round}`],
      ]);
    }
  }).timeout(20_000);
});
