/** `followCommandTips`: commands over several slots are split, others go to all shards or nodes. */

import { expect } from "chai";
import type { Cluster } from "../../src/index";
import { ClusterFixture } from "../support/cluster-fixture";

const fixture = new ClusterFixture();
const KEYS = Array.from({ length: 30 }, (_, i) => `key:${i}`);

function tipped(options = {}): Cluster {
  return fixture.connect({ followCommandTips: true, ...options });
}

describe("cluster: commands that follow the server's tips", () => {
  fixture.install();

  beforeEach(() => fixture.flush());

  it("split keys over slots and put the values back in order", async () => {
    const cluster = tipped();
    expect(await cluster.mset(Object.fromEntries(KEYS.map((key, i) => [key, i])))).to.equal("OK");
    expect(await cluster.mget(...KEYS, "none")).to.deep.equal([...KEYS.map((_, i) => `${i}`), null]);
    expect((await cluster.mgetBuffer("key:1", "key:2")).map(String)).to.deep.equal(["1", "2"]);
    expect(await cluster.exists(...KEYS, "none")).to.equal(30);
    expect(await cluster.touch(...KEYS)).to.equal(30);
    expect(await cluster.unlink(...KEYS.slice(0, 10))).to.equal(10);
    expect(await cluster.del(...KEYS)).to.equal(20);
  });

  it("go to all shards and merge the replies", async () => {
    const cluster = tipped();
    await Promise.all(KEYS.map((key) => cluster.set(key, 1)));
    expect(await cluster.dbsize()).to.equal(30);
    expect((await cluster.keys("*")).sort()).to.deep.equal([...KEYS].sort());
    expect(KEYS).to.include(await cluster.randomkey());
    expect(await cluster.ping()).to.equal("PONG");
    expect(await cluster.flushall()).to.equal("OK");
    expect(await cluster.dbsize()).to.equal(0);
    expect(await cluster.randomkey()).to.equal(null);
  });

  it("have the forms that their caller has chosen", async () => {
    const view = tipped().with({ replies: { bulk: "buffer", number: "bigint", map: "map" } });
    await view.mset("a", "1", "b", "2", "c", "3");
    await view.hset("h", "field", "value");
    expect(await view.mget("c", "a")).to.deep.equal([Buffer.from("3"), Buffer.from("1")]);
    expect([await view.dbsize(), await view.exists("a", "b", "none")]).to.deep.equal([4n, 2n]);
    expect(await view.hgetall("h")).to.deep.equal(new Map([["field", Buffer.from("value")]]));
    const rows = await view.pipeline().del("a", "b", "c").hlen("h").exec();
    expect(rows).to.deep.equal([
      [null, 3n],
      [null, 1n],
    ]);
  });

  it("load scripts on all nodes, and know which nodes have them", async () => {
    const cluster = tipped();
    const sha = String(await cluster.script("LOAD", "return 7"));
    expect(await cluster.script("EXISTS", sha, "0".repeat(40))).to.deep.equal([1, 0]);
    for (const key of KEYS) expect(await cluster.evalsha(sha, 1, key)).to.equal(7);
  });

  it("work inside pipelines, and leave transactions alone", async () => {
    const cluster = tipped();
    const rows = await cluster
      .pipeline()
      .mset("a", 1, "b", 2)
      .mget("b", "a")
      .dbsize()
      .multi()
      .set("{t}a", 1)
      .mget("{t}a", "{t}b")
      .exec()
      .del("a", "b", "c")
      .exec();
    expect(rows).to.deep.equal([
      [null, "OK"],
      [null, ["2", "1"]],
      [null, 2],
      [null, "OK"],
      [null, "QUEUED"],
      [null, "QUEUED"],
      [null, ["OK", ["1", null]]],
      [null, 2],
    ]);
  });

  it("fail as one command when a part fails", async () => {
    const cluster = tipped();
    await cluster.set("a", 1);
    const error = await cluster.call("SCRIPT", "NOSUCH").then(
      () => null,
      (reason: Error) => reason,
    );
    expect(error).to.have.property("name", "ReplyError");
    expect(await cluster.mget("a", "b")).to.deep.equal(["1", null]);
  });

  it("are off by default, and never split MSETNX", async () => {
    const plain = fixture.connect();
    const errors = await Promise.all(
      [plain.mget("a", "b"), tipped().msetnx("a", 1, "b", 2)].map((call) =>
        call.then(
          () => null,
          (reason: Error) => reason.message,
        ),
      ),
    );
    for (const message of errors) expect(message).to.match(/^CROSSSLOT /);
  });

  it("map the reply once", async () => {
    const cluster = tipped({ keyPrefix: "p:" });
    await cluster.mset("a", 1, "b", 2);
    expect(await cluster.mget("a", "b")).to.deep.equal(["1", "2"]);
    expect((await cluster.keys("*")).sort()).to.deep.equal(["p:a", "p:b"]);
  });
});

describe("cluster: scanning", () => {
  fixture.install();

  beforeEach(() => fixture.flush());

  it("streams the keys of all masters", async () => {
    const cluster = fixture.connect();
    const keys = Array.from({ length: 500 }, (_, i) => `scan:${i}`);
    const pipeline = cluster.pipeline();
    for (const key of keys) pipeline.set(key, 1);
    await pipeline.exec();
    const found = new Set<string>();
    for await (const chunk of cluster.scanStream({ match: "scan:*", count: 50 })) {
      for (const key of chunk) found.add(key);
    }
    expect([...found].sort()).to.deep.equal([...keys].sort());
  });

  it("streams Buffers, also from a client that has yet to connect", async () => {
    await fixture.connect().set("one", 1);
    const cluster = fixture.connect({ lazyConnect: true });
    const found: unknown[] = [];
    for await (const chunk of cluster.scanBufferStream()) found.push(...chunk);
    expect(found).to.deep.equal([Buffer.from("one")]);
  });

  it("goes on when a connection is lost", async () => {
    const cluster = fixture.connect();
    const keys = Array.from({ length: 300 }, (_, i) => `scan:${i}`);
    const pipeline = cluster.pipeline();
    for (const key of keys) pipeline.set(key, 1);
    await pipeline.exec();
    const found = new Set<string>();
    let chunks = 0;
    for await (const chunk of cluster.scanStream({ count: 10 })) {
      for (const key of chunk) found.add(key);
      if (chunks++ === 5) for (const node of cluster.nodes()) node.disconnect();
    }
    expect(found.size).to.equal(300);
  });

  it("of one hash, set or sorted set works by its slot", async () => {
    const cluster = fixture.connect();
    await cluster.hset("hash", { a: 1, b: 2 });
    const chunks: unknown[] = [];
    for await (const chunk of cluster.hscanStream("hash")) chunks.push(...chunk);
    expect(chunks).to.deep.equal(["a", "1", "b", "2"]);
  });
});
