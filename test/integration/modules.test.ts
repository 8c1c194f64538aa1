/** Methods of module commands against a server that knows them: fakeredis, in both protocols and reply mappings. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { closeClient } from "../support/matrix";
import { ModuleServer } from "../support/module-server";
import { codeOf } from "../support/outcome";

const START_TIMEOUT_MS = 120_000;
const FORMS = [
  { protocol: 2, replyMapping: "legacy" },
  { protocol: 3, replyMapping: "legacy" },
  { protocol: 3, replyMapping: "resp3" },
] as const;

describe("methods of module commands on fakeredis", () => {
  let server: ModuleServer | null = null;

  before(async function () {
    this.timeout(START_TIMEOUT_MS);
    server = await ModuleServer.start();
    if (server === null) this.skip();
  });
  after(() => server?.stop());

  for (const form of FORMS) {
    describe(`protocol ${form.protocol}, ${form.replyMapping} replies`, () => {
      let redis: Redis;

      beforeEach(async () => {
        redis = new Redis({ port: server?.port ?? 0, keyPrefix: "app:", enableReadyCheck: false, ...form });
        await redis.flushall();
      });
      afterEach(() => closeClient(redis));

      it("JSON", async () => {
        const user = { name: "Ada", visits: 1, tags: ["a", "b"] };
        expect(await redis.json.set("user:1", "$", user)).to.equal("OK");
        expect(await redis.json.set("user:1", "$", {}, "NX")).to.equal(null);
        expect(await redis.json.get<(typeof user)[]>("user:1", "$")).to.deep.equal([user]);
        expect(await redis.json.get<string[]>("user:1", "$.name")).to.deep.equal(["Ada"]);
        expect(await redis.json.get("none", "$")).to.equal(null);
        expect(String(await redis.json.getBuffer("user:1", "$.name"))).to.equal('["Ada"]');
        // RedisJSON returns lists of matches; fakeredis a single match as such.
        expect(await redis.json.mget("user:1", "none", "$.visits")).to.deep.equal([1, null]);
        expect(await redis.json.numincrby("user:1", "$.visits", 2)).to.deep.equal([3]);
        expect(await redis.json.arrappend("user:1", "$.tags", "c", { d: 1 })).to.deep.equal([4]);
        expect(await redis.json.arrpop("user:1", "$.tags")).to.deep.equal([{ d: 1 }]);
        expect(await redis.json.arrlen("user:1", "$.tags")).to.deep.equal([3]);
        expect(await redis.json.del("user:1", "$.tags")).to.equal(1);
        expect(await redis.call("JSON.GET", "user:1", "$.name")).to.equal('["Ada"]');
        expect(await redis.keys("*")).to.deep.equal(["app:user:1"]);
      });

      it("time series", async () => {
        const value = (number: number): number | string =>
          form.replyMapping === "resp3" ? number : `${number}`;
        expect(await redis.ts.create("cpu", "LABELS", "host", "a")).to.equal("OK");
        expect(await redis.ts.add("cpu", 1000, 1.5)).to.equal(1000);
        expect(await redis.ts.madd("cpu", 2000, 2, "cpu", 3000, 3)).to.deep.equal([2000, 3000]);
        expect(await redis.ts.get("cpu")).to.deep.equal([3000, value(3)]);
        expect(await redis.ts.range("cpu", "-", "+", "COUNT", 1)).to.deep.equal([[1000, value(1.5)]]);
        expect(await redis.ts.mget("WITHLABELS", "FILTER", "host=a")).to.deep.equal([
          { key: "app:cpu", labels: { host: "a" }, samples: [[3000, value(3)]] },
        ]);
        expect(await redis.ts.mrange(2000, "+", "FILTER", "host=a")).to.deep.equal([
          {
            key: "app:cpu",
            labels: {},
            samples: [
              [2000, value(2)],
              [3000, value(3)],
            ],
          },
        ]);
        expect(await redis.ts.mget("FILTER", "host=none")).to.deep.equal([]);
        expect(await redis.ts.info("cpu")).to.include({ totalSamples: 3, lastTimestamp: 3000 });
        expect(await redis.ts.queryindex("host=a")).to.deep.equal(["app:cpu"]);
      });

      it("Bloom and cuckoo filters, count-min sketch, top-k, t-digest", async () => {
        expect(await redis.bf.reserve("bf", 0.01, 100)).to.equal("OK");
        expect(Number(await redis.bf.add("bf", "a"))).to.equal(1);
        expect((await redis.bf.mexists("bf", "a", "b")).map(Number)).to.deep.equal([1, 0]);
        expect(await redis.bf.info("bf")).to.include({ "Number of items inserted": 1 });
        expect(Number(await redis.cf.add("cf", "a"))).to.equal(1);
        expect(await redis.cf.count("cf", "a")).to.equal(1);
        expect(await redis.cf.info("cf")).to.include({ "Number of items inserted": 1 });
        expect(await redis.cms.initbydim("cms", 10, 3)).to.equal("OK");
        expect(await redis.cms.incrby("cms", "a", 2, "b", 1)).to.deep.equal([2, 1]);
        expect(await redis.cms.query("cms", "a")).to.deep.equal([2]);
        expect(await redis.cms.info("cms")).to.deep.equal({ width: 10, depth: 3, count: 3 });
        // Wide enough that the two do not share a counter.
        expect(await redis.topk.reserve("topk", 3, 1009, 5, 0.9)).to.equal("OK");
        expect(await redis.topk.add("topk", "a", "b")).to.deep.equal([null, null]);
        expect(await redis.topk.list("topk", "WITHCOUNT")).to.deep.equal(["a", 1, "b", 1]);
        expect(await redis.topk.info("topk")).to.include({ k: 3 });
        expect(await redis.tdigest.create("td")).to.equal("OK");
        expect(await redis.tdigest.add("td", 1, 2, 3)).to.equal("OK");
        expect((await redis.tdigest.quantile("td", 0.5)).map(Number)).to.deep.equal([2]);
        expect(Number(await redis.tdigest.max("td"))).to.equal(3);
        expect(await redis.tdigest.info("td")).to.include({ Observations: 3 });
      });

      it("in pipelines and transactions, with errors in their rows", async () => {
        const rows = await redis
          .pipeline()
          .json.set("doc", "$", { list: [1] })
          .json.get<{ list: number[] }[]>("doc", "$")
          .bf.exists("none", "a")
          .get("doc")
          .exec();
        expect(rows?.slice(0, 2)).to.deep.equal([
          [null, "OK"],
          [null, [{ list: [1] }]],
        ]);
        expect(Number(rows?.[2][1])).to.equal(0);
        expect(rows?.[3][0]?.message).to.include("WRONGTYPE ");
        const results = await redis.multi().json.numincrby("doc", "$.list[0]", 4).cms.info("none").exec();
        expect(results?.[0]).to.deep.equal([null, [5]]);
        expect(results?.[1][0]).to.be.instanceOf(Error);
        expect(await codeOf(redis.with({ timeout: 1000 }).json.set("doc", "$", 1n))).to.equal(
          "INVALID_ARGUMENT",
        );
      });
    });
  }
});
