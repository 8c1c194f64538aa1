/** @opentelemetry/auto-instrumentations-node: the ioredis instrumentation among all others. */

const assert = require("node:assert/strict");
const { getNodeAutoInstrumentations } = require("@opentelemetry/auto-instrumentations-node");
const { registerInstrumentations } = require("@opentelemetry/instrumentation");
const { InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const { NodeTracerProvider } = require("@opentelemetry/sdk-trace-node");

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
registerInstrumentations({ tracerProvider: provider, instrumentations: getNodeAutoInstrumentations() });
const Redis = require("ioredis");
const { address, COMMANDS, FAILED, work } = require("./traced-work.cjs");

describe("@opentelemetry/auto-instrumentations-node", () => {
  after(() => provider.shutdown());

  it("makes one span for each command, under the request", async () => {
    const redis = new Redis(address);
    await redis.ping();
    exporter.reset();
    await provider.getTracer("test").startActiveSpan("request", async (span) => {
      await work(redis);
      span.end();
    });
    await redis.quit();
    const spans = exporter.getFinishedSpans();
    const request = spans.find(({ name }) => name === "request");
    const own = spans.filter((span) => span.parentSpanContext?.spanId === request.spanContext().spanId);
    assert.deepEqual(
      own.map(({ name }) => name),
      COMMANDS,
    );
    assert.deepEqual(
      own.map(({ attributes }) => attributes["db.operation.name"]),
      COMMANDS.map((name, place) => {
        if (place === 2 || place === 3) return `PIPELINE ${name}`;
        return place === 5 || place === 6 ? `MULTI ${name}` : name;
      }),
    );
    assert.deepEqual(
      own.flatMap(({ status }, place) => (status.code === 2 ? [place] : [])),
      [FAILED],
    );
    assert.ok(!JSON.stringify(own.map(({ attributes }) => attributes)).includes("geheim"));
  });
});
