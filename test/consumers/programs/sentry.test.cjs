/** @sentry/node: it listens to the channels `ioredis:*`, and hooks nothing else. */

const assert = require("node:assert/strict");
const Sentry = require("@sentry/node");

const transactions = [];
Sentry.init({
  dsn: "https://public@127.0.0.1/1",
  tracesSampleRate: 1,
  traceLifecycle: "static",
  transport: () => ({
    flush: async () => true,
    async send([, items]) {
      for (const [{ type }, payload] of items) if (type === "transaction") transactions.push(payload);
      return {};
    },
  }),
});
const Redis = require("ioredis");
const { address, COMMANDS, FAILED, work } = require("./traced-work.cjs");

describe("@sentry/node", () => {
  let redis;

  before(async () => {
    redis = new Redis(address);
    await redis.ping();
    await Sentry.startSpan({ name: "request" }, () => work(redis));
    await redis.quit();
    await Sentry.flush(2_000);
  });

  after(() => Sentry.close(2_000));

  it("makes one span for each command, under the request", () => {
    const { spans } = transactions.find(({ transaction }) => transaction === "request");
    const own = spans.map(({ data }) => data["db.operation.name"]);
    assert.deepEqual(own, COMMANDS);
    assert.ok(
      spans.every(({ op, origin }) => op === "db.query" && origin === "auto.db.redis.native_channel"),
    );
    assert.deepEqual(
      spans.flatMap(({ status }, place) => (status === "ok" ? [] : [place])),
      [FAILED],
    );
    assert.ok(!JSON.stringify(spans).includes("geheim"));
  });

  it("the commands of the handshake are part of the connect, and no transactions of their own", () => {
    const connect = transactions.find(({ transaction }) => transaction === "redis-connect");
    const names = connect.spans.map(({ data }) => data["db.operation.name"]);
    assert.ok(names.includes("hello"), names.join());
    assert.ok(names.includes("info"), names.join());
    const all = transactions.map(({ transaction }) => transaction);
    assert.ok(!all.includes("redis-hello"), all.join());
    assert.ok(!all.includes("redis-info"), all.join());
  });
});
