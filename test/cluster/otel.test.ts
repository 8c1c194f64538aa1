/** Metrics of OpenTelemetry that a cluster has besides those of its nodes: its cache, its redirects, its queues. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { waitUntil } from "../../scripts/servers/wait-until";
import { instrument } from "../../src/otel/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { Metrics } from "../support/metrics";

describe("cluster: metrics", function () {
  this.timeout(60_000);
  const scripted = new FakeClusterFixture().install();
  let metrics: Metrics;

  beforeEach(() => {
    metrics = new Metrics();
    instrument({ spans: "none", meterProvider: metrics.provider });
  });
  afterEach(async () => {
    instrument({ spans: "none", metrics: false }).disable();
    await metrics.provider.shutdown();
  });

  /** The name of a cluster among pools. */
  const poolOf = ([first]: readonly { host: string; port: number }[]): string =>
    `${first?.host}:${first?.port}`;

  it("redirects by kind, which stay when the client ends", async () => {
    const other = scripted.fake.node(OTHER);
    const answers = [`ASK ${SLOT} ${other.key}`, `MOVED ${SLOT} ${other.key}`];
    scripted.fake.node(OWNER).script = ([name, key]) =>
      name === "get" && key === KEY && answers.length > 0 ? new Error(answers.shift()) : undefined;
    const cluster = scripted.connect();
    while (answers.length > 0) await cluster.get(KEY);
    const wanted = { MOVED: 1, ASK: 1, TRYAGAIN: 0, CLUSTERDOWN: 0, OTHER: 0 };
    const pool = poolOf(scripted.fake.seeds);
    const redirects = (): Promise<unknown> =>
      metrics.valuesOf("sluice.redirects", pool, "sluice.redirect.kind");
    expect(await redirects()).to.deep.equal(wanted);
    cluster.disconnect();
    await waitUntil(async () => cluster.status === "end", { timeoutMs: 10_000, what: "the end" });
    expect(await redirects()).to.deep.equal(wanted);
  });

  it("commands that wait for a cluster that cannot be reached", async () => {
    const seeds = [{ host: "127.0.0.1", port: 1 }];
    const cluster = scripted.connect({ clusterRetryStrategy: () => 20 }, seeds);
    const calls = [cluster.get("a").catch(() => {}), cluster.get("b").catch(() => {})];
    const queues = await metrics.valuesOf("sluice.queue.length", poolOf(seeds), "sluice.queue");
    cluster.disconnect();
    await Promise.all(calls);
    expect(queues).to.deep.include({ offline: 2 });
  });

  describe("on real servers", () => {
    const fixture = new ClusterFixture(ServerKind.Redis);
    fixture.install();

    it("what the cache of a cluster answered", async () => {
      const cluster = fixture.connect({ cache: true });
      await untilClusterReady(cluster);
      while (cluster.cache.peek("get", "a") === undefined) await cluster.get("a");
      await cluster.get("a");
      const { hits, misses, joined, bytes } = cluster.cache.stats();
      expect(hits).to.be.above(0);
      const points = (await metrics.collect()).get("sluice.cache.reads")?.points ?? [];
      const results = points.map(({ attributes, value }) => [attributes["sluice.cache.result"], value]);
      expect(results).to.deep.equal([
        ["hit", hits],
        ["miss", misses],
        ["joined", joined],
      ]);
      const [size] = (await metrics.collect()).get("sluice.cache.size")?.points ?? [];
      expect(size?.value).to.equal(bytes);
    });
  });
});
