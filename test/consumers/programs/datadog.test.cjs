/** dd-trace: it patches `sendCommand` of the prototype and waits for the promise of each command. */

process.env.DD_INSTRUMENTATION_TELEMETRY_ENABLED = "false";
process.env.DD_REMOTE_CONFIGURATION_ENABLED = "false";
process.env.DD_TRACE_STARTUP_LOGS = "false";

const assert = require("node:assert/strict");
const tracer = require("dd-trace-5").init({ port: 1, plugins: true });

/** Instead of sending them to an agent, which there is none of. */
const spans = [];
tracer._tracer._processor._exporter.export = (finished) => spans.push(...finished);
const Redis = require("ioredis");
const { address, COMMANDS, FAILED, work } = require("./traced-work.cjs");

describe("dd-trace", () => {
  it("makes one span for each command, under the request", async () => {
    const redis = new Redis(address);
    await redis.ping();
    await tracer.trace("request", () => work(redis));
    await redis.quit();
    const request = spans.find(({ name }) => name === "request");
    const own = spans.filter((span) => String(span.parent_id) === String(request.span_id));
    assert.deepEqual(
      own.map(({ resource }) => resource),
      COMMANDS,
    );
    assert.ok(own.every(({ name }) => name === "redis.command"));
    assert.deepEqual(
      own.flatMap(({ error }, place) => (error === 0 ? [] : [place])),
      [FAILED],
    );
    assert.equal(own[0].meta["out.host"], address.host);
    assert.equal(own[0].metrics["network.destination.port"], address.port);
  });
});
