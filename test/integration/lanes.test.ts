import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { waitUntil } from "../../scripts/servers/wait-until";
import { Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";

const LARGE = "x".repeat(300_000);
const KEYS = Array.from({ length: 50 }, (_, index) => `key:${index}`);

async function connectionsOf(redis: Redis, name: string): Promise<string[]> {
  const list = String(await redis.client("LIST"))
    .trim()
    .split("\n");
  return list.filter((line) => line.includes(` name=${name} `));
}

describe("lanes", () => {
  const fixture = new ServerFixture(ServerKind.Redis).install();

  for (const enableAutoPipelining of [false, true]) {
    for (const protocol of [2, 3] as const) {
      it(`are one client, protocol ${protocol}, auto-pipelining ${enableAutoPipelining ? "on" : "off"}`, async () => {
        const connections = { lanes: 3, bulk: 1 } as const;
        const redis = fixture.connect({
          connections,
          protocol,
          enableAutoPipelining,
          connectionName: "many",
        });
        await untilReady(redis);
        expect(await connectionsOf(fixture.control, "many")).to.have.length(4);
        await Promise.all(KEYS.map((key, index) => redis.set(key, index)));
        expect(await redis.mget(...KEYS)).to.deep.equal(KEYS.map((_, index) => String(index)));
        const rows = await redis.pipeline(KEYS.map((key) => ["incr", key])).exec();
        expect(rows).to.deep.equal(KEYS.map((_, index) => [null, index + 1]));
        const whole = await redis.multi(KEYS.map((key) => ["get", key])).exec();
        expect(whole).to.deep.equal(KEYS.map((_, index) => [null, String(index + 1)]));
        const lanes = redis.stats().lanes?.map(({ name }) => name);
        expect(lanes).to.deep.equal(["main", "lane 1", "lane 2", "bulk"]);
        const ended = new Promise<void>((resolve) => redis.once("end", () => resolve()));
        await redis.quit();
        await ended;
        await waitUntil(async () => (await connectionsOf(fixture.control, "many")).length === 0, {
          timeoutMs: 3000,
          what: "all connections to be closed",
        });
      });
    }
  }

  it("follow SELECT, and what stands between all others", async () => {
    const redis = fixture.connect({ connections: { lanes: 3 } });
    const before = KEYS.map((key) => redis.set(key, "zero"));
    const selected = redis.select(5);
    const after = KEYS.map((key) => redis.set(key, "five"));
    const flushed = redis.flushdb();
    const late = KEYS.map((key) => redis.get(key));
    await Promise.all([...before, selected, ...after, flushed]);
    expect(new Set(await Promise.all(late))).to.deep.equal(new Set([null]));
    expect(new Set(await fixture.control.mget(...KEYS))).to.deep.equal(new Set(["zero"]));
  });

  it("keep transactions by hand and their guards in one place", async () => {
    const redis = fixture.connect({ connections: { lanes: 3 } });
    await redis.multi({ pipeline: false });
    const queued = KEYS.map((key) => redis.set(key, 1));
    const rows = await redis.exec();
    expect(new Set(await Promise.all(queued))).to.deep.equal(new Set(["QUEUED"]));
    expect(rows).to.have.length(KEYS.length);
    await redis.watch(...KEYS);
    await fixture.control.set("key:7", "changed");
    expect(await redis.multi().set("key:8", 1).exec()).to.equal(null);
  });

  it("take large values over the bulk connection", async () => {
    const redis = fixture.connect({ connections: { bulk: 1 } });
    await untilReady(redis);
    const inFlight = (): (number | undefined)[] | undefined =>
      redis.stats().lanes?.map(({ queues }) => queues.inFlight + queues.unsent);
    const written = redis.set("large:1", LARGE);
    expect(inFlight()).to.deep.equal([0, 1]);
    await written;
    // The first large reply teaches the client; the next one has a connection of its own.
    expect(await redis.get("large:1")).to.equal(LARGE);
    const read = redis.get("large:2");
    const small = redis.get("small:1");
    expect(inFlight()).to.deep.equal([1, 1]);
    await Promise.all([read, small]);
    const asked = redis.with({ lane: "bulk" }).get("small:1");
    const behind = redis.get("small:1");
    expect(inFlight()).to.deep.equal([0, 2]);
    await Promise.all([asked, behind]);
  });

  it("stay ready when one is lost, and its commands wait", async () => {
    const redis = fixture.connect({ connections: { lanes: 2 }, connectionName: "lost" });
    await untilReady(redis);
    const ended: string[] = [];
    for (const event of ["close", "reconnecting", "end"]) redis.on(event, () => ended.push(event));
    const main = String(await redis.client("ID"));
    const [other = ""] = (await connectionsOf(fixture.control, "lost")).filter(
      (line) => !line.startsWith(`id=${main} `),
    );
    const id = /^id=(\d+)/.exec(other)?.[1] ?? "";
    await fixture.control.client("KILL", "ID", id);
    expect(new Set(await Promise.all(KEYS.map((key) => redis.set(key, 1))))).to.deep.equal(new Set(["OK"]));
    expect(ended).to.deep.equal([]);
    expect(redis.status).to.equal("ready");
  });

  it("come back together when the line is cut", async () => {
    const redis = fixture.connect({ connections: { lanes: 3, bulk: 1 } });
    await untilReady(redis);
    fixture.proxy.cutAll();
    const replies = await Promise.all(KEYS.map((key) => redis.append(key, "x")));
    expect(replies.every((length) => length > 0)).to.equal(true);
    await untilReady(redis);
  });

  it("are all told of a user, and all waited for by WAIT", async () => {
    const redis = fixture.connect({ connections: { lanes: 3 }, connectionName: "before" });
    await untilReady(redis);
    await redis.client("SETNAME", "after");
    await Promise.all(KEYS.map((key) => redis.get(key)));
    expect(await connectionsOf(fixture.control, "after")).to.have.length(3);
    expect(await redis.wait(0, 10)).to.equal(0);
  });

  it("are refused where they make no sense", () => {
    for (const connections of [{ lanes: 0 }, { lanes: 1.5 }, { lanes: "2" }, { bulk: 2 }, { lanes: 65 }, 2]) {
      const make = (): Redis => new Redis({ lazyConnect: true, connections: connections as object });
      expect(make, JSON.stringify(connections)).to.throw().with.property("code", "INVALID_OPTION");
    }
    const both = (): Redis => new Redis({ lazyConnect: true, cache: true, connections: { lanes: 2 } });
    expect(both).to.throw().with.property("code", "INVALID_OPTION");
    const redis = fixture.connect({ connections: { bulk: 1 } });
    expect(() => redis.with({ lane: "slow" as "bulk" }))
      .to.throw()
      .with.property("code", "INVALID_OPTION");
  });
});

describe("lanes of the nodes of a cluster", function () {
  this.timeout(60_000);
  const fixture = new ClusterFixture().install();

  it("keep the order of each key, and go where a slot goes", async () => {
    const cluster = fixture.connect({ redisOptions: { connections: { lanes: 2, bulk: 1 } } });
    await untilClusterReady(cluster);
    const replies = await Promise.all(
      KEYS.flatMap((key) => [cluster.set(key, 1), cluster.incr(key), cluster.get(key)]),
    );
    expect(replies).to.deep.equal(KEYS.flatMap(() => ["OK", 2, "2"]));
    const rows = await cluster.pipeline(KEYS.map((key) => ["incr", key])).exec();
    expect(rows).to.deep.equal(KEYS.map(() => [null, 3]));
    await cluster.set("large:1", LARGE);
    const read = await Promise.all([cluster.get("large:1"), cluster.get("large:1"), cluster.get("key:1")]);
    expect(read).to.deep.equal([LARGE, LARGE, "3"]);
    expect(await cluster.multi().set("{a}1", 1).incr("{a}1").exec()).to.deep.equal([
      [null, "OK"],
      [null, 2],
    ]);
    expect(await cluster.quit()).to.equal("OK");
  });
});
