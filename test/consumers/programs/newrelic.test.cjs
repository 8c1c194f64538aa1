/** newrelic: it rewrites `sendCommand` of the class `Redis` in built/Redis.js as that file is loaded. */

process.env.NEW_RELIC_NO_CONFIG_FILE = "true";
process.env.NEW_RELIC_APP_NAME = "test";
process.env.NEW_RELIC_LICENSE_KEY = "a".repeat(40);
process.env.NEW_RELIC_HOST = "127.0.0.1";
process.env.NEW_RELIC_PORT = "1";
process.env.NEW_RELIC_LOG_ENABLED = "false";

const assert = require("node:assert/strict");
const newrelic = require("newrelic");
const Redis = require("ioredis");
const { address, COMMANDS, work } = require("./traced-work.cjs");

describe("newrelic", () => {
  before(() => newrelic.agent.setState("started"));
  after((done) => newrelic.shutdown({ collectPendingData: false }, () => done()));

  it("makes one segment for each command, under the transaction", async () => {
    const redis = new Redis(address);
    await redis.ping();
    const found = [];
    await newrelic.startBackgroundTransaction("request", async () => {
      await work(redis);
      const { trace } = newrelic.agent.tracer.getTransaction();
      const [request] = trace.getChildren(trace.root.id);
      found.push(...trace.getChildren(request.id));
    });
    await redis.quit();
    assert.deepEqual(
      found.map(({ name }) => name),
      COMMANDS.map((name) => `Datastore/operation/Redis/${name}`),
    );
    assert.equal(found[0].getAttributes().port_path_or_id, address.port);
  });
});
