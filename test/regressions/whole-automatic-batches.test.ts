/** Callers that are answered by several reads stay in one automatic batch, over connections of any round trip. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { type Cluster, Redis } from "../../src/index";
import { hooks } from "../../src/observability/hooks";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const VALUE = "x".repeat(1024);
const ROUNDS = 12;
/** The replies of a batch arrive in several reads, milliseconds apart. */
const BYTES_PER_SECOND = 25_000_000;
/** The first rounds bring callers together that were connected or redirected apart. */
const FIRST_ROUNDS = 4;

interface Line {
  readonly host: string;
  readonly port: number;
}

async function delayedBy(roundTripMs: number, target: Line): Promise<FaultProxy> {
  const proxy = await FaultProxy.start({ host: target.host, port: target.port }, { record: false });
  proxy.delay(roundTripMs / 2);
  proxy.limitRate(BYTES_PER_SECOND);
  return proxy;
}

/** Mean size of the automatic batches while so many callers each await one GET after the other. */
async function meanBatch(client: Redis | Cluster, callers: number): Promise<number> {
  const keys = Array.from({ length: callers }, (_, i) => `key:${i}`);
  await Promise.all(keys.map((key) => client.set(key, VALUE)));
  const inRounds = async (rounds: number): Promise<void> => {
    const loop = async (key: string): Promise<void> => {
      for (let i = 0; i < rounds; i++) expect(await client.get(key)).to.have.length(VALUE.length);
    };
    await Promise.all(keys.map(loop));
  };
  await inRounds(FIRST_ROUNDS);
  let batches = 0;
  hooks.gathered = () => {
    batches++;
  };
  await inRounds(ROUNDS);
  return (callers * ROUNDS) / batches;
}

describe("automatic batches stay whole", () => {
  let proxies: FaultProxy[] = [];
  let redis: Redis | null = null;
  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  afterEach(async () => {
    if (redis !== null) await closeClient(redis);
    redis = null;
    hooks.gathered = null;
    await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()));
    proxies = [];
  });

  it("an adaptive window follows the round trips of its connection", async () => {
    const line = await delayedBy(50, server);
    proxies.push(line);
    redis = new Redis({ host: line.host, port: line.port, enableAutoPipelining: "adaptive" });
    await untilReady(redis);
    const widest = redis.stats().window;
    await Promise.all([redis.get("a"), redis.get("b")]);
    // One batch for each half millisecond.
    expect(redis.stats().window).to.be.within(100, (widest ?? 0) - 1);
  });

  for (const roundTripMs of [0, 1, 10]) {
    for (const callers of [100, 1000]) {
      it(`${callers} callers on one server, ${roundTripMs} ms away`, async () => {
        const proxy = await delayedBy(roundTripMs, server);
        proxies.push(proxy);
        redis = new Redis({ host: proxy.host, port: proxy.port, enableAutoPipelining: true });
        await untilReady(redis);
        expect(await meanBatch(redis, callers)).to.be.at.least(callers * 0.9);
      });
    }
  }

  describe("on a cluster", () => {
    const fixture = new ClusterFixture().install();

    for (const roundTripMs of [0, 1, 10]) {
      for (const callers of [100, 1000]) {
        it(`${callers} callers on three masters, ${roundTripMs} ms away`, async () => {
          const natMap: Record<string, Line> = {};
          for (const node of fixture.cluster.nodes) {
            const proxy = await delayedBy(roundTripMs, node);
            proxies.push(proxy);
            natMap[`${node.host}:${node.port}`] = { host: proxy.host, port: proxy.port };
          }
          const cluster = fixture.connect({ natMap, enableAutoPipelining: true });
          await untilClusterReady(cluster);
          expect(await meanBatch(cluster, callers)).to.be.at.least((callers / 3) * 0.9);
        });
      }
    }
  });
});
