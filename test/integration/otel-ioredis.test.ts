/**
 * The instrumentation for ioredis, on this client and on the published one: the same program gives
 * the same spans, by name, attributes, parent, status and order.
 */

import { context, type Span, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { IORedisInstrumentation } from "@opentelemetry/instrumentation-ioredis";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { expect } from "chai";
import Peer, { Cluster as PeerCluster } from "ioredis";
import { ServerKind } from "../../scripts/servers/find-server";
import { Cluster, Redis } from "../../src/index";
import { instrument } from "../../src/otel/index";
import { ClusterFixture, closeCluster } from "../support/cluster-fixture";
import { closeClient, untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";

interface Definition {
  patch(module: unknown, version: string): unknown;
  unpatch(module: unknown, version: string): void;
}

const SHA = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
const quietly = (call: Promise<unknown>): Promise<unknown> => call.catch(() => {});

type Call = (client: Redis) => Promise<unknown>;

const CALLS: readonly Call[] = [
  (redis) => redis.set("text", "x"),
  (redis) => redis.get("text"),
  (redis) => redis.getBuffer("text"),
  (redis) => redis.set("n", 1, "EX", 100),
  (redis) => redis.incr("n"),
  (redis) => redis.incrby("n", 5),
  (redis) => redis.decr("n"),
  (redis) => quietly(redis.incr("text")),
  (redis) => redis.append("text", "y"),
  (redis) => redis.strlen("text"),
  (redis) => redis.getrange("text", 0, 1),
  (redis) => redis.setex("e", 10, "v"),
  (redis) => redis.ttl("e"),
  (redis) => redis.expire("e", 20),
  (redis) => redis.exists("e"),
  (redis) => redis.type("e"),
  (redis) => redis.del("e"),
  (redis) => redis.mset("{t}1", 1, "{t}2", 2),
  (redis) => redis.mget("{t}1", "{t}2"),
  (redis) => redis.hset("h", { a: 1, b: 2 }),
  (redis) => redis.hget("h", "a"),
  (redis) => redis.hgetall("h"),
  (redis) => redis.hdel("h", "a"),
  (redis) => quietly(redis.lpush("text", 1)),
  (redis) => redis.rpush("l", 1, 2, 3),
  (redis) => redis.lrange("l", 0, -1),
  (redis) => redis.lpop("l"),
  (redis) => redis.blpop("l", 1),
  (redis) => redis.sadd("s", 1, 2),
  (redis) => redis.smembers("s"),
  (redis) => redis.zadd("z", 1, "a", 2, "b"),
  (redis) => redis.zrange("z", 0, -1, "WITHSCORES"),
  (redis) => redis.eval("return ARGV[1]", 1, "k", "v"),
  (redis) => quietly(redis.evalsha(SHA, 1, "k")),
  (redis) => redis.call("GET", "text"),
  (redis) => redis.callBuffer("get", "text"),
  (redis) => redis.pipeline().get("text").get("n").exec(),
  (redis) => redis.pipeline().set("p", 1).incr("p").hget("h", "b").exec(),
  (redis) => redis.pipeline().incr("text").get("text").exec(),
  (redis) =>
    redis
      .pipeline([
        ["get", "text"],
        ["ttl", "n"],
      ])
      .exec(),
  (redis) => redis.multi().set("{t}1", 1).incr("{t}1").exec(),
  (redis) => redis.multi().get("{t}1").exec(),
];
/** Calls that a cluster does not have, or has no fixed node for. */
const SINGLE_CALLS: readonly Call[] = [
  (redis) => redis.ping(),
  (redis) => redis.echo("hello"),
  (redis) => redis.dbsize(),
  (redis) => redis.keys("absent*"),
  (redis) => redis.scan(0),
  (redis) => redis.client("GETNAME"),
  (redis) => redis.config("GET", "maxmemory"),
  (redis) => redis.pipeline().get("text").multi().incr("n").exec().get("n").exec(),
  (redis) => Promise.all([redis.get("text"), redis.get("n"), redis.pipeline().get("n").exec()]),
];

/** A reply of which one sees whether its parts are strings or Buffers. */
function typed(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return `Buffer ${reply}`;
  if (Array.isArray(reply)) return reply.map(typed);
  if (reply instanceof Map) return { map: [...reply].map(typed) };
  if (typeof reply === "object" && reply !== null) {
    return Object.fromEntries(Object.entries(reply).map(([key, value]) => [key, typed(value)]));
  }
  return reply;
}

/** Pipelines of one node: ioredis divides none. */
const CLUSTER_PIPELINES: readonly Call[] = [
  (redis) => redis.pipeline().get("{t}1").get("{t}2").exec(),
  (redis) => redis.pipeline().set("{t}1", 1).incr("{t}1").hset("{t}h", "a", 1).hgetall("{t}h").exec(),
  (redis) => redis.pipeline().set("{t}s", "x").incr("{t}s").get("{t}s").exec(),
  (redis) => redis.pipeline().getBuffer("{t}1").mget("{t}1", "{t}2").exec(),
  (redis) => redis.pipeline().get("{t}1").multi().incr("{t}1").exec().get("{t}1").exec(),
  (redis) => redis.multi({ pipeline: true }).set("{t}1", 5).get("{t}1").exec(),
];

describe("under the instrumentation for ioredis", function () {
  this.timeout(120_000);
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const manager = new AsyncLocalStorageContextManager();
  /** The answers that the response hook has seen. */
  const replies: unknown[] = [];
  const instrumentation = new IORedisInstrumentation({
    requireParentSpan: false,
    responseHook: (_span, name, _args, response) => replies.push([name, typed(response)]),
  });
  instrumentation.setTracerProvider(tracerProvider);
  const [definition] = (instrumentation as unknown as { init(): Definition[] }).init() as [Definition];

  before(() => {
    context.setGlobalContextManager(manager.enable());
  });
  after(() => {
    context.disable();
    manager.disable();
    return tracerProvider.shutdown();
  });

  /** The spans that the calls leave, each under a span of its own. */
  async function record(module: unknown, client: Redis, calls: readonly Call[]): Promise<unknown[]> {
    definition.patch(module, "6.0.0");
    exporter.reset();
    replies.length = 0;
    const parents = new Map<string, string>();
    try {
      for (const [index, call] of calls.entries()) {
        const parent: Span = tracerProvider.getTracer("test").startSpan(`call ${index}`);
        parents.set(parent.spanContext().spanId, `call ${index}`);
        await context.with(trace.setSpan(context.active(), parent), () => call(client));
        parent.end();
      }
      const spans = exporter.getFinishedSpans().map((span) => shown(span, parents));
      return [...spans, ...replies];
    } finally {
      definition.unpatch(module, "6.0.0");
    }
  }

  function shown(span: ReadableSpan, parents: ReadonlyMap<string, string>): unknown {
    const { name, kind, status, attributes, events, parentSpanContext } = span;
    const parent = parentSpanContext === undefined ? null : parents.get(parentSpanContext.spanId);
    return { name, kind, status, attributes, events: events.map((event) => event.name), parent };
  }

  describe("on one server", () => {
    const fixture = new ServerFixture(ServerKind.Redis).install();
    const calls = [...CALLS, ...SINGLE_CALLS];

    it(`${calls.length} different calls give the spans that they give with ioredis`, async () => {
      expect(calls.length).to.be.at.least(40);
      const address = { host: fixture.server.host, port: fixture.server.port };
      const peer = new Peer(address);
      await untilReady(peer as unknown as Redis);
      const theirs = await record(Peer, peer as unknown as Redis, calls);
      await peer.quit();
      await fixture.server.command("FLUSHALL");
      const redis = fixture.connectDirectly();
      await untilReady(redis);
      const ours = await record(Redis, redis, calls);
      expect(ours.length).to.be.above(2 * calls.length);
      expect(ours).to.deep.equal(theirs);
    });

    it("sluice/otel adds none beside it", async () => {
      const redis = fixture.connectDirectly();
      await untilReady(redis);
      const alone = await record(Redis, redis, calls);
      await fixture.server.command("FLUSHALL");
      const { disable } = instrument({ tracerProvider, metrics: false });
      const together = await record(Redis, redis, calls);
      disable();
      expect(together).to.deep.equal(alone);
      await closeClient(redis);
    });
  });

  describe("on a cluster", () => {
    const fixture = new ClusterFixture().install();

    it("different calls and pipelines give the spans that they give with ioredis", async () => {
      const { seeds } = fixture.cluster;
      const flush = async (): Promise<void> => {
        const cluster = fixture.connect();
        await untilReady(cluster as unknown as Redis);
        await Promise.all(cluster.nodes("master").map((node) => node.flushall()));
        await closeCluster(cluster);
      };
      const calls = [...CALLS.filter((call) => !/pipeline/.test(String(call))), ...CLUSTER_PIPELINES];
      const peer = new PeerCluster(seeds);
      await new Promise((resolve) => peer.once("ready", resolve));
      for (const key of ["text", "n", "h", "l", "s", "z", "k", "{t}1", "e"]) await peer.exists(key);
      const theirs = await record(Peer, peer as unknown as Redis, calls);
      await peer.quit();
      await flush();
      const cluster = fixture.connect();
      for (const key of ["text", "n", "h", "l", "s", "z", "k", "{t}1", "e"]) await cluster.exists(key);
      const ours = await record(Redis, cluster as unknown as Redis, calls);
      expect(calls.length).to.be.at.least(20);
      expect(ours).to.deep.equal(theirs);
      expect(cluster).to.be.instanceOf(Cluster);
    });
  });
});
