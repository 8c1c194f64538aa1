/**
 * Commands that a server runs or refuses inside of MULTI without queueing them (WATCH, a second
 * MULTI) have no row in the reply of EXEC: each row is mapped by the command that it belongs to.
 * DISCARD ends a transaction in the source of a bulk as EXEC does.
 */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { ServerFixture } from "../support/server-fixture";

describe("rows of EXEC beside what was not queued", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;
  beforeEach(async () => {
    redis = fixture.connect();
    await redis.hset("h", "a", "1");
  });

  const ROWS = [
    [null, { a: "1" }],
    [null, "v"],
  ];

  it("WATCH first", async () => {
    await redis.set("q", "v");
    expect(await redis.multi().watch("x").hgetall("h").get("q").exec()).to.deep.equal(ROWS);
  });

  it("WATCH between", async () => {
    const transaction = redis.multi().hgetall("h").watch("x").hgetall("h");
    expect(await transaction.exec()).to.deep.equal([ROWS[0], ROWS[0]]);
  });

  it("a second MULTI", async () => {
    const pipeline = redis.pipeline().multi().hgetall("h").call("multi").hgetall("h").exec();
    const rows = (await (pipeline as unknown as typeof pipeline & { exec(): typeof pipeline }).exec()) ?? [];
    expect(rows[2]?.[0]).to.be.instanceOf(Error);
    expect(rows[4]?.[1]).to.deep.equal([{ a: "1" }, { a: "1" }]);
  });

  it("on a transaction of a pipeline with Buffers", async () => {
    const rows = await redis.multi().watch("x").hgetallBuffer("h").exec();
    expect(rows).to.deep.equal([[null, { a: Buffer.from("1") }]]);
  });
});

const DISCARDED = [
  ["set", "{t}a", "0"],
  ["multi"],
  ["set", "{t}a", "1"],
  ["incr", "{t}b"],
  ["discard"],
  ["get", "{t}a"],
  ["multi"],
  ["incr", "{t}b"],
  ["exec"],
] as const;
const ANSWERS = ["OK", "OK", "QUEUED", "QUEUED", "OK", "0", "OK", "QUEUED", [1]];

describe("bulk: DISCARD", () => {
  const fixture = new ServerFixture().install();

  it("ends a transaction; what follows is sent on its own", async () => {
    const redis = fixture.connect();
    const values: unknown[] = [];
    for await (const [error, value] of redis.bulk(DISCARDED)) values.push(error ?? value);
    expect(values).to.deep.equal(ANSWERS);
  });

  it("lets the batch end behind it", async () => {
    const redis = fixture.connect();
    function* source(): Generator<unknown[]> {
      yield ["multi"];
      yield ["incr", "a"];
      yield ["discard"];
      for (let i = 0; i < 1000; i++) yield ["incr", "n"];
    }
    let steps = 0;
    const onProgress = (): void => {
      steps++;
    };
    expect(await redis.bulk(source(), { batchSize: 100, onProgress }).summary()).to.include({ failed: 0 });
    expect(steps, "batches").to.be.greaterThan(5);
    expect(await redis.get("n")).to.equal("1000");
    expect(await redis.exists("a")).to.equal(0);
  });

  it("without MULTI has an error of its own, and so has a second EXEC", async () => {
    const redis = fixture.connect();
    const source = [
      ["discard"],
      ["multi"],
      ["call", "multi"],
      ["incr", "n"],
      ["exec"],
      ["exec"],
      ["get", "n"],
    ];
    const rows: unknown[] = [];
    for await (const [error, value] of redis.bulk(source)) rows.push(error?.message ?? value);
    expect(rows[0]).to.match(/DISCARD without MULTI/);
    expect(rows[5]).to.match(/EXEC without MULTI/);
    expect(rows[6]).to.equal("1");
  });
});

describe("cluster: bulk: DISCARD", () => {
  const fixture = new ClusterFixture();
  fixture.install();

  it("ends a transaction; what follows is sent on its own", async () => {
    const cluster = fixture.connect();
    await untilClusterReady(cluster);
    const values: unknown[] = [];
    for await (const [error, value] of cluster.bulk(DISCARDED)) values.push(error ?? value);
    expect(values).to.deep.equal(ANSWERS);
  });
});
