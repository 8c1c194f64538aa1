/**
 * @opentelemetry/instrumentation-ioredis: it patches `sendCommand` and `connect` of the prototype
 * and settles spans by replacing `resolve` and `reject` of each command.
 */

const assert = require("node:assert/strict");
const { trace, context, SpanStatusCode } = require("@opentelemetry/api");
const { registerInstrumentations } = require("@opentelemetry/instrumentation");
const { IORedisInstrumentation } = require("@opentelemetry/instrumentation-ioredis");
const { InMemorySpanExporter, SimpleSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const { NodeTracerProvider } = require("@opentelemetry/sdk-trace-node");

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
const responses = [];
const instrumentation = new IORedisInstrumentation({
  requireParentSpan: false,
  responseHook: (_span, name, _args, response) => responses.push([name, response]),
});
registerInstrumentations({ tracerProvider: provider, instrumentations: [instrumentation] });
const Redis = require("ioredis");

const address = { host: process.env.REDIS_HOST, port: Number(process.env.REDIS_PORT) };
const ATTRIBUTE = "db.query.text";

describe("@opentelemetry/instrumentation-ioredis", () => {
  let redis;

  beforeEach(async () => {
    redis = new Redis(address);
    await redis.ping();
    await redis.flushall();
    exporter.reset();
    responses.length = 0;
  });

  afterEach(() => redis.quit());

  const names = () => exporter.getFinishedSpans().map((span) => span.name);

  it("has patched the client", () => {
    assert.ok(Redis.prototype.sendCommand.__original, "sendCommand is not patched");
  });

  it("makes a span for each single command, with its parent, statement, address and reply", async () => {
    const tracer = trace.getTracer("test");
    const parent = tracer.startSpan("request");
    await context.with(trace.setSpan(context.active(), parent), async () => {
      await redis.set("key", "secret");
      assert.equal(await redis.get("key"), "secret");
    });
    parent.end();
    assert.deepEqual(names(), ["set", "get", "request"]);
    const [set, get] = exporter.getFinishedSpans();
    assert.equal(set.parentSpanContext.spanId, parent.spanContext().spanId);
    assert.equal(set.attributes[ATTRIBUTE], "set key [1 other arguments]");
    assert.equal(get.attributes["server.port"], address.port);
    assert.equal(get.status.code, SpanStatusCode.UNSET);
    assert.equal(String(responses[1][1]), "secret");
  });

  it("records the error of a failed command", async () => {
    await redis.set("text", "x");
    await assert.rejects(redis.incr("text"), /not an integer/);
    const span = exporter.getFinishedSpans().at(-1);
    assert.equal(span.name, "incr");
    assert.equal(span.status.code, SpanStatusCode.ERROR);
    assert.match(span.status.message, /not an integer/);
    assert.equal(span.events[0].name, "exception");
  });

  it("sees every command of a pipeline, with the results unchanged", async () => {
    await redis.set("text", "x");
    exporter.reset();
    const rows = await redis
      .pipeline()
      .set("a", 1)
      .incr("text")
      .get("a")
      .hset("h", { f: "v" })
      .hgetall("h")
      .exec();
    assert.equal(rows[0][1], "OK");
    assert.match(rows[1][0].message, /not an integer/);
    assert.equal(rows[2][1], "1");
    assert.deepEqual(rows[4][1], { f: "v" });
    assert.deepEqual(names(), ["set", "incr", "get", "hset", "hgetall"]);
    assert.equal(exporter.getFinishedSpans()[1].status.code, SpanStatusCode.ERROR);
  });

  it("sees MULTI, every member and EXEC of a transaction", async () => {
    const rows = await redis.multi().set("a", 1).incr("a").exec();
    assert.deepEqual(rows, [
      [null, "OK"],
      [null, 2],
    ]);
    assert.deepEqual(names().sort(), ["exec", "incr", "multi", "set"]);
  });

  it("operation names say what a command is a part of", async () => {
    await redis.pipeline().get("a").multi().incr("n").exec().get("b").exec();
    await redis.multi().get("a").exec();
    const operations = exporter.getFinishedSpans().map((span) => span.attributes["db.operation.name"]);
    assert.deepEqual(operations, [
      "PIPELINE get",
      "multi",
      "MULTI incr",
      "exec",
      "PIPELINE get",
      "multi",
      "MULTI get",
      "exec",
    ]);
  });

  it("sees automatic pipelines, scripts, blocking commands and buffers", async () => {
    const auto = new Redis({ ...address, enableAutoPipelining: true, maxRetriesPerRequest: 3 });
    await auto.ping();
    auto.defineCommand("double", {
      numberOfKeys: 1,
      lua: "return redis.call('incrby', KEYS[1], ARGV[1] * 2)",
    });
    exporter.reset();
    const results = await Promise.all([
      auto.incr("n"),
      auto.incr("n"),
      auto.double("n", 5),
      auto.getBuffer("n"),
    ]);
    assert.deepEqual(results, [1, 2, 12, Buffer.from("12")]);
    assert.deepEqual(
      names()
        .filter((name) => !name.startsWith("eval"))
        .sort(),
      ["get", "incr", "incr"],
    );
    assert.ok(names().some((name) => name.startsWith("eval")));
    await redis.rpush("list", "x");
    assert.deepEqual(await auto.blpop("list", 1), ["list", "x"]);
    assert.ok(names().includes("blpop"));
    await auto.quit();
  });

  it("a span ends once for each command under load", async () => {
    await Promise.all([...Array(2_000).keys()].map((n) => redis.set(`k${n}`, n)));
    assert.equal(names().length, 2_000);
    assert.equal(new Set(exporter.getFinishedSpans().map((span) => span.spanContext().spanId)).size, 2_000);
  });

  it("reports connects, and commands of a closed client", async () => {
    const second = new Redis({ ...address, lazyConnect: true });
    await second.connect();
    assert.ok(names().includes("connect"));
    second.disconnect();
    exporter.reset();
    await assert.rejects(second.get("x"), /Connection is closed/);
    assert.equal(exporter.getFinishedSpans()[0].status.code, SpanStatusCode.ERROR);
  });

  it("takes the direct way again once tracing is off", async () => {
    instrumentation.disable();
    exporter.reset();
    assert.equal(await redis.set("a", 1), "OK");
    assert.deepEqual(await redis.pipeline().get("a").exec(), [[null, "1"]]);
    assert.deepEqual(names(), []);
    instrumentation.enable();
  });
});
