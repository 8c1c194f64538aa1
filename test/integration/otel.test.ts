/** `sluice/otel`: spans and metrics by the semantic conventions, with the SDK that users have. */

import { createHook } from "node:async_hooks";
import { context, type MeterProvider, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { registerInstrumentations } from "@opentelemetry/instrumentation";
import {
  type DataPoint,
  type Histogram,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
  MeterProvider as SdkMeterProvider,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { Redis } from "../../src/index";
import { type InstrumentOptions, instrument } from "../../src/otel/index";
import { SluiceInstrumentation } from "../../src/otel/instrumentation";
import { FakeClusterFixture, KEY } from "../support/fake-cluster-fixture";
import { untilReady } from "../support/matrix";
import { Metrics } from "../support/metrics";
import { ServerFixture } from "../support/server-fixture";

describe("sluice/otel", function () {
  this.timeout(60_000);
  const fixture = new ServerFixture(ServerKind.Redis).install();
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = tracerProvider.getTracer("test");
  const manager = new AsyncLocalStorageContextManager();
  let metrics: Metrics;
  let redis: Redis;

  before(() => {
    context.setGlobalContextManager(manager.enable());
  });
  after(() => {
    context.disable();
    manager.disable();
    return tracerProvider.shutdown();
  });
  beforeEach(async () => {
    metrics = new Metrics();
    redis = fixture.connectDirectly({ db: 3, connectionName: "otel" });
    await untilReady(redis);
    await redis.set("text", "geheim");
    exporter.reset();
  });
  afterEach(async () => {
    instrument({ spans: "none", metrics: false }).disable();
    await metrics.provider.shutdown();
  });

  const start = (options: InstrumentOptions = {}) =>
    instrument({ tracerProvider, meterProvider: metrics.provider, ...options });
  const spans = (): ReadableSpan[] => exporter.getFinishedSpans();
  const names = (): string[] => spans().map(({ name }) => name);

  /** Runs work under a span of its own, as a request handler does. */
  async function inRequest<T>(work: () => Promise<T>): Promise<string> {
    const span = tracer.startSpan("request");
    await context.with(trace.setSpan(context.active(), span), work);
    span.end();
    return span.spanContext().spanId;
  }

  const place = (): Record<string, unknown> => ({
    "db.system.name": "redis",
    "db.namespace": "3",
    "server.address": fixture.server.host,
    "server.port": fixture.server.port,
    "network.peer.address": "127.0.0.1",
    "network.peer.port": fixture.server.port,
  });

  describe("attributes equal the tables of the conventions", () => {
    const failed = { "error.type": "ERR", "db.response.status_code": "ERR" };
    const cases: Record<
      string,
      [work: (client: Redis) => Promise<unknown>, wanted: Record<string, unknown>]
    > = {
      "a single command": [(client) => client.get("text"), { "db.operation.name": "GET" }],
      "one with many keys is no batch": [(client) => client.mget("a", "b"), { "db.operation.name": "MGET" }],
      "one that fails": [(client) => client.incr("text"), { "db.operation.name": "INCR", ...failed }],
      "one of two words": [(client) => client.client("ID"), { "db.operation.name": "CLIENT" }],
      "a script by its hash": [
        (client) => client.evalsha("e0e1f9fabfc9d4800c877a703b823ac0578ff8db", 0),
        {
          "db.operation.name": "EVALSHA",
          "db.stored_procedure.name": "e0e1f9fabfc9d4800c877a703b823ac0578ff8db",
          "error.type": "NOSCRIPT",
          "db.response.status_code": "NOSCRIPT",
        },
      ],
      "a pipeline of one kind": [
        (client) => client.pipeline().get("a").get("b").exec(),
        { "db.operation.name": "PIPELINE GET", "db.operation.batch.size": 2 },
      ],
      "a pipeline of several kinds": [
        (client) => client.pipeline().get("a").set("b", 1).ttl("b").exec(),
        { "db.operation.name": "PIPELINE", "db.operation.batch.size": 3 },
      ],
      "a pipeline of one command is that command": [
        (client) => client.pipeline().get("a").exec(),
        { "db.operation.name": "GET" },
      ],
      "a pipeline with an error": [
        (client) => client.pipeline().get("a").incr("text").exec(),
        { "db.operation.name": "PIPELINE", "db.operation.batch.size": 2, ...failed },
      ],
      "a transaction of one kind": [
        (client) => client.multi().get("a").get("b").exec(),
        { "db.operation.name": "MULTI GET", "db.operation.batch.size": 2 },
      ],
      "a transaction of several kinds": [
        (client) => client.multi().get("a").set("b", 1).exec(),
        { "db.operation.name": "MULTI", "db.operation.batch.size": 2 },
      ],
      "an empty transaction": [
        (client) => client.multi().exec(),
        { "db.operation.name": "MULTI", "db.operation.batch.size": 0 },
      ],
      "a bulk": [
        (client) =>
          client
            .bulk([
              ["get", "a"],
              ["get", "b"],
            ])
            .summary(),
        { "db.operation.name": "PIPELINE GET", "db.operation.batch.size": 2 },
      ],
    };
    for (const [title, [work, wanted]] of Object.entries(cases)) {
      it(title, async () => {
        start();
        await work(redis).catch(() => {});
        expect(spans()).to.have.lengthOf(1);
        const [span] = spans() as [ReadableSpan];
        expect(span.attributes).to.deep.equal({ ...place(), ...wanted });
        expect(span.name).to.equal(wanted["db.operation.name"]);
        expect(span.kind).to.equal(SpanKind.CLIENT);
        const isFailure = wanted["error.type"] !== undefined;
        expect(span.status.code).to.equal(isFailure ? SpanStatusCode.ERROR : SpanStatusCode.UNSET);
        expect(span.ended).to.equal(true);
        expect(JSON.stringify([span.attributes, span.status])).to.not.contain("geheim");
      });
    }

    it("a cluster is named by its first start node", async () => {
      const [first] = clusters.fake.seeds as [{ host: string; port: number }];
      start();
      const cluster = clusters.connect();
      await cluster.pipeline().get(KEY).get("bar").exec();
      const [span] = spans() as [ReadableSpan];
      expect(span.attributes).to.deep.equal({
        "db.system.name": "redis",
        "db.namespace": "0",
        "db.operation.name": "PIPELINE GET",
        "db.operation.batch.size": 2,
        "server.address": first.host,
        "server.port": first.port,
      });
    });
    const clusters = new FakeClusterFixture().install();
  });

  describe("spans", () => {
    it("commands of one request that leave in one write are one span, each request has its own", async () => {
      start();
      // Calls may leave before their run is over: each write between two of a request divides it once.
      const before = redis.stats().flushes.count;
      const works = ["a", "b", "c"].map(
        (key) => () => Promise.all(Array.from({ length: 10 }, () => redis.get(key))),
      );
      const parents = await Promise.all(works.map(inRequest));
      for (const parent of parents) {
        const own = spans().filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent);
        const sizes = own.map(({ attributes }) => Number(attributes["db.operation.batch.size"] ?? 1));
        expect(sizes.reduce((sum, size) => sum + size)).to.equal(10);
        expect(own.every(({ name }) => name === "GET" || name === "PIPELINE GET")).to.equal(true);
      }
      const own = spans().filter(({ name }) => name !== "request");
      expect(own.length).to.be.at.most(parents.length + redis.stats().flushes.count - before);
      expect(own.length).to.be.below(30);
    });

    it("commands that are awaited one by one are spans of their own", async () => {
      start();
      await inRequest(async () => {
        await redis.get("a");
        await redis.set("a", 1);
      });
      expect(names()).to.deep.equal(["GET", "SET", "request"]);
    });

    it("lie within the time of their parent and follow its trace", async () => {
      start();
      await inRequest(() => redis.pipeline().get("a").get("b").exec());
      const [own, parent] = spans() as [ReadableSpan, ReadableSpan];
      const ms = ([seconds, nanos]: readonly [number, number]): number => seconds * 1000 + nanos / 1e6;
      expect(ms(own.startTime)).to.be.at.least(ms(parent.startTime) - 1);
      expect(ms(own.endTime)).to.be.at.most(ms(parent.endTime) + 1);
      expect(own.spanContext().traceId).to.equal(parent.spanContext().traceId);
    });

    it('spans: "command" makes one for each member, "none" makes none', async () => {
      start({ spans: "command" });
      await redis.pipeline().get("a").set("b", 1).exec();
      expect(names()).to.deep.equal(["GET", "SET"]);
      exporter.reset();
      start({ spans: "none" });
      await redis.pipeline().get("a").set("b", 1).exec();
      await redis.get("a");
      expect(names()).to.deep.equal([]);
    });

    for (const enableAutoPipelining of [false, true])
      it(`CLIENT CACHING belongs to the request of its read, automatic batches: ${enableAutoPipelining}`, async () => {
        const cached = fixture.connectDirectly({ cache: true, enableAutoPipelining });
        await untilReady(cached);
        start({ spans: "command" });
        const requests = await Promise.all(
          ["text", "another", "third"].map((key) => inRequest(() => cached.get(key))),
        );
        const children = spans().filter(({ name }) => name !== "request");
        for (const request of requests) {
          const own = children.filter(({ parentSpanContext }) => parentSpanContext?.spanId === request);
          expect(own.map(({ name }) => name)).to.have.members(["CLIENT", "GET"]);
        }
      });

    it("minDurationMs leaves out what was quick, requireParent what has no parent", async () => {
      start({ minDurationMs: 200 });
      await redis.get("a");
      await redis.blpop("nothing", 0.4);
      expect(names()).to.deep.equal(["BLPOP"]);
      exporter.reset();
      start({ requireParent: true });
      await redis.get("a");
      await redis.pipeline().get("a").exec();
      await inRequest(() => redis.get("a"));
      expect(names()).to.deep.equal(["GET", "request"]);
    });

    it('queryText: "keys" shows keys and never a value', async () => {
      start({ queryText: "keys" });
      await redis.set("user:1", "geheim");
      await redis.auth("geheim").catch(() => {});
      const texts = spans().map(({ attributes }) => attributes["db.query.text"]);
      expect(texts).to.deep.equal(["SET user:1 ?", "AUTH ?"]);
    });

    it("a hundred thousand commands in batches of a hundred make a thousand", async () => {
      let count = 0;
      const counter = {
        onEnd: () => count++,
        onStart() {},
        forceFlush: async () => {},
        shutdown: async () => {},
      };
      const counting = new BasicTracerProvider({ spanProcessors: [counter as unknown as SpanProcessor] });
      start({ tracerProvider: counting });
      for (let round = 0; round < 10; round++) {
        const batches = Array.from({ length: 100 }, () => {
          const pipeline = redis.pipeline();
          for (let n = 0; n < 100; n++) pipeline.get("a");
          return pipeline.exec();
        });
        await Promise.all(batches);
      }
      expect(count).to.equal(1000);
    });

    it("a processor that throws changes nothing for commands", async () => {
      const fail = (): never => {
        throw new Error("exporter");
      };
      const broken = {
        onEnd: fail,
        onStart: fail,
        forceFlush: fail,
        shutdown: fail,
      } as unknown as SpanProcessor;
      start({ tracerProvider: new BasicTracerProvider({ spanProcessors: [broken] }) });
      expect(await Promise.all([redis.set("a", 1), redis.get("a")])).to.deep.equal(["OK", "1"]);
      expect(await redis.pipeline().get("a").exec()).to.deep.equal([[null, "1"]]);
      expect(redis.stats().commands.fulfilled).to.equal(redis.stats().commands.issued);
    });

    it("a processor that blocks, or an exporter that never answers, changes nothing for commands", async () => {
      const blocking = {
        onStart() {},
        onEnd() {
          const end = performance.now() + 5;
          while (performance.now() < end);
        },
        forceFlush: async () => {},
        shutdown: async () => {},
      } as unknown as SpanProcessor;
      const silent = new BatchSpanProcessor({ export() {}, shutdown: async () => {} } as SpanExporter, {
        maxExportBatchSize: 1,
        maxQueueSize: 4,
        scheduledDelayMillis: 1,
        exportTimeoutMillis: 20,
      });
      start({ tracerProvider: new BasicTracerProvider({ spanProcessors: [blocking, silent] }) });
      const before = redis.stats().commands;
      for (let round = 0; round < 20; round++) {
        await inRequest(async () => {
          expect(await Promise.all([redis.set("a", round), redis.get("a")])).to.deep.equal([
            "OK",
            String(round),
          ]);
          expect(await redis.pipeline().get("a").exec()).to.deep.equal([[null, String(round)]]);
        });
      }
      const after = redis.stats().commands;
      expect([after.fulfilled - before.fulfilled, after.failed - before.failed]).to.deep.equal([60, 0]);
      await silent.shutdown().catch(() => {});
    });

    it("calls are counted by stats() as without", async () => {
      const before = redis.stats().commands;
      start();
      await Promise.all([redis.get("a"), redis.incr("text").catch(() => {})]);
      const after = redis.stats().commands;
      expect([after.fulfilled - before.fulfilled, after.failed - before.failed]).to.deep.equal([1, 1]);
    });
  });

  describe("what it adds to a program", () => {
    /** Promises and asynchronous resources of the client that come about while the work runs, and contexts entered. */
    async function count(work: () => Promise<unknown>): Promise<Record<string, number>> {
      const counts = { promises: 0, resources: 0, contexts: 0 };
      const hook = createHook({
        init(_id, type) {
          if (type === "PROMISE") counts.promises++;
          if (type.startsWith("sluice.")) counts.resources++;
        },
      });
      const enter = manager.with;
      manager.with = (...args) => {
        counts.contexts++;
        return Reflect.apply(enter, manager, args);
      };
      hook.enable();
      try {
        await work();
      } finally {
        hook.disable();
        manager.with = enter;
      }
      return counts;
    }

    async function work(): Promise<void> {
      for (let round = 0; round < 20; round++) {
        await redis.get("a");
        await redis.incr("text").catch(() => {});
        await Promise.all([redis.get("a"), redis.get("b"), redis.set("a", 1)]);
        await redis.pipeline().get("a").set("b", 1).exec();
        await redis.multi().get("a").exec();
      }
    }

    it("are no promise, no asynchronous resource and no context", async () => {
      await work();
      const alone = await count(work);
      expect(alone.promises).to.be.above(200);
      // The exporter of the other tests makes promises of its own.
      let made = 0;
      const counter = {
        onStart() {},
        onEnd: () => made++,
        forceFlush: async () => {},
        shutdown: async () => {},
      };
      const counting = new BasicTracerProvider({ spanProcessors: [counter as unknown as SpanProcessor] });
      start({ tracerProvider: counting });
      expect(await count(work)).to.deep.equal(alone);
      expect(made).to.be.at.least(100);
    });

    it("are resources of the commands where each command has a span", async () => {
      start({ spans: "command" });
      expect((await count(work)).resources).to.be.above(100);
    });
  });

  describe("switching", () => {
    it("a second call takes the place of the first, and disable() ends it", async () => {
      const first = start();
      const second = start();
      first.disable();
      await redis.get("a");
      expect(names()).to.deep.equal(["GET"]);
      second.disable();
      await redis.get("a");
      await redis.pipeline().get("a").exec();
      expect(names()).to.deep.equal(["GET"]);
    });

    it("works as an instrumentation of a set-up", async () => {
      const instrumentation = new SluiceInstrumentation({ spans: "batch" });
      const stop = registerInstrumentations({
        tracerProvider,
        meterProvider: metrics.provider,
        instrumentations: [instrumentation],
      });
      await redis.pipeline().get("a").get("b").exec();
      expect(names()).to.deep.equal(["PIPELINE GET"]);
      stop();
      await redis.get("a");
      expect(names()).to.deep.equal(["PIPELINE GET"]);
    });

    it("makes no spans beside an instrumentation that patches the client", async () => {
      start();
      const patched = Object.assign(
        (...args: unknown[]) => Reflect.apply(Redis.prototype.sendCommand, redis, args),
        {
          __wrapped: true,
        },
      );
      redis.sendCommand = patched as unknown as Redis["sendCommand"];
      await redis.get("a");
      await redis.pipeline().get("a").get("b").exec();
      await redis.multi().get("a").exec();
      expect(names()).to.deep.equal([]);
    });

    it("options that are unknown, or values of them, are refused with what there is", () => {
      const bad: [object, RegExp][] = [
        [{ spans: "all" }, /"spans" must be "batch" or "command" or "none", got "all"/],
        [{ metrics: 1 }, /"metrics" must be true or false, got 1/],
        [{ minDurationMs: -1 }, /"minDurationMs" must be a number of milliseconds, 0 or more, got -1/],
        [{ minDurationMs: Number.NaN }, /"minDurationMs"/],
        [{ queryText: "values" }, /"queryText" must be "keys" or "none"/],
        [{ requireParent: "yes" }, /"requireParent"/],
        [{ tracerProvider: {} }, /getTracer/],
        [{ span: "batch" }, /unknown option "span"\. Expected one of spans, queryText/],
      ];
      for (const [options, message] of bad) expect(() => instrument(options)).to.throw(TypeError, message);
      expect(() => instrument(null as unknown as object)).to.throw(TypeError);
    });
  });

  describe("metrics", () => {
    it("a batch is one operation, in the buckets of the convention", async () => {
      start({ spans: "none" });
      await redis.get("a");
      await redis.pipeline().get("a").get("b").exec();
      await redis.incr("text").catch(() => {});
      const duration = (await metrics.collect()).get("db.client.operation.duration");
      expect(duration?.unit).to.equal("s");
      const found = duration?.points.map(({ attributes, value }) => {
        const { count, buckets } = value as Histogram;
        expect(buckets.boundaries).to.deep.equal([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]);
        return [attributes, count];
      });
      expect(found).to.have.deep.members([
        [{ ...place(), "db.operation.name": "GET" }, 1],
        [{ ...place(), "db.operation.name": "PIPELINE GET" }, 1],
        [
          { ...place(), "db.operation.name": "INCR", "error.type": "ERR", "db.response.status_code": "ERR" },
          1,
        ],
      ]);
    });

    it("tell what only a pipelining client can, with units", async () => {
      start();
      await redis.pipeline().get("a").get("b").exec();
      const second = fixture.connectDirectly({ enableAutoPipelining: true, cache: true });
      await untilReady(second);
      await second.get("text");
      const found = await metrics.collect();
      const units = Object.fromEntries([...found].map(([name, { unit }]) => [name, unit]));
      expect(units).to.deep.equal({
        "db.client.operation.duration": "s",
        "db.client.connection.create_time": "s",
        "db.client.connection.count": "{connection}",
        "db.client.connection.pending_requests": "{request}",
        "sluice.queue.wait": "s",
        "sluice.window": "{batch}",
        "sluice.window.wait": "s",
        "sluice.cache.reads": "{command}",
        "sluice.cache.evictions": "{answer}",
        "sluice.cache.invalidations": "{key}",
        "sluice.cache.size": "By",
        "sluice.flushes": "{flush}",
        "sluice.flushed.commands": "{command}",
        "sluice.io": "By",
        "sluice.queue.length": "{command}",
        "sluice.round_trip.mean": "s",
        "sluice.round_trip.p99": "s",
        "sluice.stalls": "{stall}",
        "sluice.stall.time": "s",
        "sluice.connections.lost": "{connection}",
        "sluice.commands.resent": "{command}",
      });
      const pool = `${fixture.server.host}:${fixture.server.port}`;
      const sum = redis.stats().flushes.commands + second.stats().flushes.commands;
      const written = found
        .get("sluice.flushed.commands")
        ?.points.find(({ attributes }) => attributes["db.client.connection.pool.name"] === pool);
      expect(written?.value).to.be.at.least(sum);
    });

    it("instruments that throw change nothing for commands", async () => {
      const fail = (): never => {
        throw new Error("exporter");
      };
      const instrumentThatFails = { record: fail, add: fail, addCallback() {}, removeCallback() {} };
      const create = () => instrumentThatFails;
      const meter = {
        ...{ createHistogram: create, createObservableCounter: create, createObservableGauge: create },
        ...{ createObservableUpDownCounter: create },
        addBatchObservableCallback() {},
        removeBatchObservableCallback() {},
      };
      start({ meterProvider: { getMeter: () => meter } as unknown as MeterProvider });
      const auto = fixture.connectDirectly({ db: 3, enableAutoPipelining: { maxInFlight: 1 } });
      await untilReady(auto);
      for (const client of [redis, auto]) {
        const failure = client.incr("text").catch((error: Error) => error.message);
        expect(await Promise.all([client.set("a", 1), client.get("a")])).to.deep.equal(["OK", "1"]);
        expect(await failure).to.match(/not an integer/);
        expect(await client.pipeline().get("a").exec()).to.deep.equal([[null, "1"]]);
        expect(await client.multi().get("a").exec()).to.deep.equal([[null, "1"]]);
        expect(client.stats().commands.fulfilled + client.stats().commands.failed).to.equal(
          client.stats().commands.issued,
        );
      }
    });

    it("an exporter of metrics that throws changes nothing for commands", async () => {
      let exports = 0;
      const exporter = {
        export() {
          exports++;
          throw new Error("exporter");
        },
        forceFlush: async () => {},
        shutdown: async () => {},
      } as unknown as PushMetricExporter;
      const reader = new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: 10,
        exportTimeoutMillis: 10,
      });
      const provider = new SdkMeterProvider({ readers: [reader] });
      start({ meterProvider: provider });
      while (exports < 3) expect(await redis.get("text")).to.equal("geheim");
      await provider.shutdown().catch(() => {});
    });

    it("how long automatic batches are gathered, one record for each", async () => {
      const auto = fixture.connectDirectly({ enableAutoPipelining: { maxInFlight: 1 } });
      await untilReady(auto);
      start({ spans: "none" });
      const blocked = auto.client("PAUSE", 60, "WRITE");
      const first = auto.set("a", 1);
      await new Promise(setImmediate);
      await Promise.all([blocked, first, auto.set("a", 2), auto.set("a", 3)]);
      const [point] = (await metrics.collect()).get("sluice.window.wait")?.points ?? [];
      const { count, max = 0 } = (point as DataPoint<Histogram>).value;
      expect(count).to.equal(2);
      expect(max).to.be.within(0.03, 1);
      expect(point?.attributes).to.deep.equal({
        "db.client.connection.pool.name": `${fixture.server.host}:${fixture.server.port}`,
      });
    });

    it("what a cache answered, and only of clients that have one", async () => {
      start();
      await redis.get("text");
      expect((await metrics.collect()).get("sluice.cache.reads")?.points ?? []).to.deep.equal([]);
      const cached = fixture.connectDirectly({ cache: true });
      await untilReady(cached);
      await cached.get("text");
      await cached.get("text");
      await cached.get("text");
      const points = (await metrics.collect()).get("sluice.cache.reads")?.points ?? [];
      const { hits, misses, joined } = cached.cache.stats();
      expect(hits).to.equal(2);
      const results = points.map(({ attributes, value }) => [attributes["sluice.cache.result"], value]);
      expect(results).to.deep.equal([
        ["hit", hits],
        ["miss", misses],
        ["joined", joined],
      ]);
    });

    it("a counter keeps what clients have counted that have ended, also when they come back", async () => {
      start();
      const other = fixture.connectDirectly({ cache: true });
      await untilReady(other);
      const pool = `${fixture.server.host}:${fixture.server.port}`;
      const written = async (): Promise<unknown> =>
        (await metrics.valuesOf("sluice.flushed.commands", pool, "none"))["undefined"];
      const sum = (): number => redis.stats().flushes.commands + other.stats().flushes.commands;
      await other.get("text");
      await redis.get("text");
      const first = (await written()) as number;
      expect(first).to.be.at.least(sum());
      const others = first - sum();
      await other.get("a");
      const ended = new Promise((resolve) => other.once("end", resolve));
      other.disconnect();
      await ended;
      expect(await written()).to.equal(sum() + others);
      await other.connect();
      await other.get("a");
      expect(await written()).to.equal(sum() + others);
    });

    it("metrics: false makes none", async () => {
      start({ metrics: false });
      await redis.get("a");
      expect([...(await metrics.collect()).keys()]).to.deep.equal([]);
    });
  });

  it("nothing of it is loaded by the client", () => {
    const source = require.resolve("../../src/index");
    const loaded = Object.keys(require.cache).length;
    expect(loaded).to.be.above(0);
    const seen = new Set<string>();
    const walk = (path: string): void => {
      if (seen.has(path)) return;
      seen.add(path);
      for (const child of require.cache[path]?.children ?? []) walk(child.filename);
    };
    walk(source);
    expect([...seen].filter((path) => /otel/.test(path.slice(path.indexOf("build"))))).to.deep.equal([]);
  });
});
