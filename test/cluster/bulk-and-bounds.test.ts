/** Bulk loading, parts of pipelines and bounds on a real cluster, where every batch is split by slot owner. */

import { expect } from "chai";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";

const fixture = new ClusterFixture();

/** Commands that were handed over and are not settled, wherever they are. */
function outstanding(cluster: Cluster): number {
  const queued = cluster.nodes("master").map((node) => node.commandQueue.length + node.offlineQueue.length);
  return queued.reduce((sum, count) => sum + count, cluster.autoPipelineQueueSize);
}

function* increments(count: number): Generator<readonly unknown[]> {
  for (let i = 0; i < count; i++) yield ["incr", `key:${i % 997}`];
}

async function sumOfCounters(cluster: Cluster): Promise<number> {
  const values = await Promise.all(Array.from({ length: 997 }, (_, i) => cluster.get(`key:${i}`)));
  return values.reduce((sum, value) => sum + Number(value), 0);
}

describe("cluster: bulk", () => {
  fixture.install();
  beforeEach(() => fixture.flush());

  it("gives all rows in the order of the commands, whatever node answered", async () => {
    const cluster = fixture.connect();
    const values: unknown[] = [];
    for await (const [error, value] of cluster.bulk(increments(9970), { batchSize: 500 })) {
      expect(error).to.equal(null);
      values.push(value);
    }
    expect(values).to.deep.equal(Array.from({ length: 9970 }, (_, i) => Math.floor(i / 997) + 1));
  });

  it("counts, keeps errors by their place, stops when it is told to", async () => {
    const cluster = fixture.connect();
    const commands = [...increments(3000), ["lpush", "key:1", "x"], ["mget", "a", "b"], ["get", "key:1"]];
    const summary = await cluster.bulk(commands, { batchSize: 700 }).summary();
    expect(summary).to.include({ issued: 3003, settled: 3003, succeeded: 3001, failed: 2 });
    expect(summary.errors.map(({ index }) => index)).to.deep.equal([3000, 3001]);
    const controller = new AbortController();
    const aborted = cluster.bulk(increments(1_000_000), {
      batchSize: 500,
      signal: controller.signal,
      onProgress: ({ settled }) => {
        if (settled >= 2000) controller.abort();
      },
    });
    const error = await aborted.summary().then(
      () => null,
      (failure: Error & { code?: string }) => failure,
    );
    expect(error?.code).to.equal("BULK_ABORTED");
  });

  it("goes on while a node hangs up on the client again and again", async () => {
    const cluster = fixture.connect({ clusterRetryStrategy: () => 10 });
    await untilClusterReady(cluster);
    const [master] = await fixture.cluster.masters();
    let cuts = 0;
    const summary = await cluster
      .bulk(increments(40_000), {
        batchSize: 1000,
        onProgress: () => {
          if (cuts >= 5) return;
          cuts++;
          void master?.command("CLIENT", "KILL", "TYPE", "normal");
        },
      })
      .summary();
    expect(summary).to.include({ settled: 40_000, failed: 0 });
    expect(cuts).to.equal(5);
    // At least once is the rule for single commands: none is missing.
    expect(await sumOfCounters(cluster)).to.be.at.least(40_000);
  });

  it("sends a pipeline in parts", async () => {
    const cluster = fixture.connect();
    const pipeline = cluster.pipeline();
    for (let i = 0; i < 5000; i++) pipeline.incr(`key:${i % 997}`);
    const rows = await pipeline.exec({ batchSize: 700 });
    expect(rows?.map(([, value]) => value)).to.deep.equal(
      Array.from({ length: 5000 }, (_, i) => Math.floor(i / 997) + 1),
    );
  });
});

describe("cluster: bounds", () => {
  fixture.install();
  beforeEach(() => fixture.flush());

  for (const enableAutoPipelining of [false, true]) {
    for (const policy of ["wait", "reject"] as const) {
      it(`hold over all nodes, ${policy}, auto-pipelining ${enableAutoPipelining ? "on" : "off"}`, async () => {
        const cluster = fixture.connect({ enableAutoPipelining, bounds: { maxCommands: 100, policy } });
        await untilClusterReady(cluster);
        // All nodes are connected: nothing of a handshake is counted.
        await Promise.all(Array.from({ length: 50 }, (_, i) => cluster.get(`key:${i}`)));
        const masters = await fixture.cluster.masters();
        for (const master of masters) master.pause();
        const outcomes = Promise.allSettled(Array.from({ length: 997 }, (_, i) => cluster.incr(`key:${i}`)));
        await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
        const most = outstanding(cluster);
        for (const master of masters) master.resume();
        const settled = await outcomes;
        expect(most).to.be.at.most(100);
        const refused = settled.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : []));
        expect(refused).to.deep.equal(policy === "wait" ? [] : Array(897).fill("BOUNDS_EXCEEDED"));
        // A few at a time: these are bounded too.
        let sum = 0;
        for (let i = 0; i < 997; i += 50) {
          const keys = Array.from({ length: Math.min(50, 997 - i) }, (_, j) => `key:${i + j}`);
          for (const value of await Promise.all(keys.map((key) => cluster.get(key)))) sum += Number(value);
        }
        expect(sum).to.equal(policy === "wait" ? 997 : 100);
      });
    }
  }

  it("a pipeline over all nodes is admitted whole", async () => {
    const cluster = fixture.connect({ bounds: { maxCommands: 100 } });
    await untilClusterReady(cluster);
    const runs = Array.from({ length: 10 }, () => {
      const pipeline = cluster.pipeline();
      for (let i = 0; i < 60; i++) pipeline.incr(`key:${i}`);
      return pipeline.exec();
    });
    const values = (await Promise.all(runs)).map((rows) => rows?.map(([, value]) => value));
    expect(values).to.deep.equal(Array.from({ length: 10 }, (_, run) => Array(60).fill(run + 1)));
  });
});
