/**
 * A process with a cluster client that is frozen while all its connections die: the first commands after the thaw run once,
 * on new connections, and their callers do not wait for long.
 */

import { expect } from "chai";
import { ClusterFixture } from "../support/cluster-fixture";
import { FaultProxy } from "../support/fault-proxy";
import { FrozenProcess } from "../support/frozen-process";

/** With default options a connection of a node is doubted after 4 s. */
const FROZEN_MS = 4500;
const QUICK_MS = 300;
const QUICK = { watchdog: { idleMs: 100, probeTimeoutMs: 2000 } };
/** The promise is 500 ms; the rest is for a machine that is busy with other tests. */
const LONGEST_MS = 2000;
/** One key of each master. */
const KEYS = ["a", "b", "c"];

describe("cluster: frozen processes", function () {
  this.timeout(60_000);
  const fixture = new ClusterFixture().install();
  let proxies: FaultProxy[];
  let child: FrozenProcess;

  beforeEach(async () => {
    await fixture.flush();
    proxies = await Promise.all(
      fixture.cluster.nodes.map(({ host, port }) => FaultProxy.start({ host, port })),
    );
  });
  afterEach(async () => {
    await child.end();
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  });

  async function start(redisOptions: object = {}): Promise<void> {
    const places = fixture.cluster.nodes.map(
      ({ port }, index) =>
        [`127.0.0.1:${port}`, { host: "127.0.0.1", port: proxies[index]?.port as number }] as const,
    );
    const options = { natMap: Object.fromEntries(places), redisOptions };
    child = new FrozenProcess({ port: proxies[0]?.port, isCluster: true, options });
    await expectCounts(1);
  }

  const isolate = (): void => {
    for (const proxy of proxies) proxy.isolate();
  };

  /** Each key is incremented once. Returns how long the first reply took. */
  async function expectCounts(count: number): Promise<number> {
    const { replies, firstMs } = await child.ask(KEYS.map((key) => `incr:${key}`).join(" "));
    expect(replies).to.deep.equal(KEYS.map(() => count));
    if (count > 1) expect(firstMs).to.be.below(LONGEST_MS);
    return firstMs;
  }

  it("with default options: the first replies come soon on new connections, and nothing runs twice", async () => {
    await start();
    isolate();
    await child.freeze(FROZEN_MS);
    console.log(`      the first reply after ${Math.round(await expectCounts(2))} ms`);
  });

  for (const retryPolicy of ["at-least-once", "at-most-once"] as const) {
    it(`no command is in doubt, ${retryPolicy}, again and again`, async () => {
      await start({ ...QUICK, retryPolicy });
      for (let round = 2; round <= 3; round++) {
        isolate();
        await child.freeze(QUICK_MS);
        await expectCounts(round);
      }
    });
  }

  it("connections that are alive are kept", async () => {
    await start(QUICK);
    const opened = proxies.map(({ openConnections }) => openConnections);
    for (let round = 2; round <= 4; round++) {
      await child.freeze(QUICK_MS);
      await expectCounts(round);
    }
    expect(proxies.map(({ openConnections }) => openConnections)).to.deep.equal(opened);
  });
});
