/** The channels `sluice:*`: the client tells of its own work there. */

import { channel, type TracingChannelSubscribers, tracingChannel } from "node:diagnostics_channel";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { freePort } from "../../scripts/servers/free-port";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { FlushContext, PipelineContext, PubSubContext } from "../../src/index";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { type Endpoint, ManagedServer } from "../support/managed-server";
import { untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";
import { uncaughtDuring } from "../support/uncaught";

interface Operation<Context> {
  readonly context: Context;
  readonly events: string[];
}

const EVENTS = ["start", "end", "error", "asyncStart", "asyncEnd"] as const;
const stops: (() => void)[] = [];

/** Operations of one channel in the order in which they began. */
function listen<Context extends object>(name: string): Operation<Context>[] {
  const operations: Operation<Context>[] = [];
  const note = (event: string) => (context: object) => {
    const known = operations.find((one) => (one.context as object) === context);
    if (known !== undefined) known.events.push(event);
    else operations.push({ context: context as Context, events: [event] });
  };
  const handlers = Object.fromEntries(EVENTS.map((event) => [event, note(event)]));
  const subscribers = handlers as unknown as TracingChannelSubscribers<object>;
  tracingChannel<unknown, object>(name).subscribe(subscribers);
  stops.push(() => tracingChannel<unknown, object>(name).unsubscribe(subscribers));
  return operations;
}

async function until(condition: () => boolean): Promise<void> {
  await waitUntil(async () => condition(), { timeoutMs: 10_000, what: condition.toString() });
}

const WHOLE = ["start", "end", "asyncStart", "asyncEnd"];
const FAILED = ["start", "end", "error", "asyncStart", "asyncEnd"];

describe("channels of the client's own work", () => {
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
  });

  describe("on one server", () => {
    const fixture = new ServerFixture(ServerKind.Redis).install();

    it("sluice:pipeline tells of each exec(): kind, size, names, errors and times", async () => {
      const redis = fixture.connect();
      await redis.set("text", "geheim");
      const heard = listen<PipelineContext>("sluice:pipeline");
      await redis.pipeline().get("text").get("text").incr("text").exec();
      await redis.multi().set("n", 1).incr("text").exec();
      await redis
        .bulk([
          ["get", "n"],
          ["get", "n"],
        ])
        .summary();
      await redis.pipeline().exec();
      const facts = heard.map(({ context, events }) => {
        const { queuedMs, wireMs, settlingMs, durationMs, ...others } = context;
        const { serverAddress, serverPort, peerAddress, peerPort, ...rest } = others;
        expect([serverAddress, serverPort]).to.deep.equal([redis.options.host, redis.options.port]);
        expect([peerAddress, peerPort]).to.deep.equal(["127.0.0.1", redis.options.port]);
        const parts = [queuedMs, wireMs, settlingMs].map((part) => part as number);
        expect(parts.reduce((sum, part) => sum + part)).to.be.closeTo(durationMs as number, 0.001);
        expect(Math.min(...parts)).to.be.at.least(0);
        expect(events).to.deep.equal(WHOLE);
        return rest;
      });
      const one = { database: 0, nodes: 1, isPatched: false };
      expect(facts).to.deep.equal([
        { ...one, kind: "pipeline", size: 3, commands: { get: 2, incr: 1 }, errors: { ERR: 1 } },
        { ...one, kind: "transaction", size: 2, commands: { set: 1, incr: 1 }, errors: { ERR: 1 } },
        { ...one, kind: "bulk", size: 2, commands: { get: 2 }, errors: {} },
      ]);
      expect(JSON.stringify(heard)).to.not.contain("geheim");
    });

    it("sluice:pipeline names no commands when there are many, and tells what exec() rejects with", async () => {
      const redis = fixture.connect();
      await untilReady(redis);
      const heard = listen<PipelineContext>("sluice:pipeline");
      const pipeline = redis.pipeline();
      for (let n = 0; n < 17; n++) pipeline.call(`word${n}`);
      await pipeline.exec();
      await redis
        .multi()
        .call("wrong")
        .exec()
        .catch(() => {});
      expect(heard.map(({ context }) => context.commands)).to.deep.equal([null, { wrong: 1 }]);
      expect(heard[1]?.events).to.deep.equal(FAILED);
      expect(heard[1]?.context.error?.message).to.match(/EXECABORT/);
    });

    it("sluice:pipeline begins where exec() is called", async () => {
      const redis = fixture.connect();
      const stacks: string[] = [];
      const { start } = tracingChannel("sluice:pipeline");
      const note = (): void => void stacks.push(String(new Error("here").stack));
      start.subscribe(note);
      stops.push(() => start.unsubscribe(note));
      await redis.pipeline().get("a").exec();
      expect(stacks[0]).to.contain("work-channels.test");
    });

    it("sluice:flush tells of a write before the end of the run", async () => {
      const redis = fixture.connect();
      await untilReady(redis);
      await redis.get("a");
      const heard = listen<FlushContext>("sluice:flush");
      const reply = redis.pipeline().get("a").get("b").exec();
      expect(heard).to.have.lengthOf(1);
      await reply;
      const [{ context, events }] = heard as [(typeof heard)[number]];
      expect(events).to.deep.equal(WHOLE);
      expect(context).to.include({ commands: 2, inFlight: 0, batches: 1, cause: "early" });
      expect(context.roundTripMs).to.be.above(0);
    });

    it("sluice:flush tells when automatic batches were held back by the window", async () => {
      const redis = fixture.connect({ enableAutoPipelining: { maxInFlight: 1 } });
      await untilReady(redis);
      const heard = listen<FlushContext>("sluice:flush");
      const paused = redis.client("PAUSE", 60, "WRITE");
      const first = redis.set("a", 1);
      await new Promise(setImmediate);
      await Promise.all([paused, first, redis.set("a", 2), redis.set("a", 3)]);
      const facts = heard.map(({ context: { commands, cause } }) => [commands, cause === "window"]);
      expect(facts.at(-1)).to.deep.equal([2, true]);
      expect(facts.slice(0, -1).some(([, isWindow]) => isWindow)).to.equal(false);
    });

    it("sluice:flush tells of each write, and ends with its first reply", async () => {
      const redis = fixture.connect({ flushPolicy: "turn" });
      await untilReady(redis);
      await redis.get("a");
      const heard = listen<FlushContext>("sluice:flush");
      const before = redis.stats().flushes;
      const first = redis.get("a");
      await new Promise(process.nextTick);
      const more = [redis.get("b"), redis.pipeline().get("c").get("d").exec()];
      await Promise.all([first, ...more]);
      const after = redis.stats().flushes;
      expect(heard)
        .to.have.lengthOf(after.count - before.count)
        .and.lengthOf(2);
      expect(heard.map(({ events }) => events)).to.deep.equal([WHOLE, WHOLE]);
      const facts = heard.map(({ context: { commands, inFlight, batches, cause } }) => ({
        commands,
        inFlight,
        batches,
        cause,
      }));
      expect(facts).to.deep.equal([
        { commands: 1, inFlight: 0, batches: 0, cause: "run" },
        { commands: 3, inFlight: 1, batches: 1, cause: "turn" },
      ]);
      for (const { context } of heard) expect(context.roundTripMs).to.be.above(0);
      const [one] = heard;
      expect(one?.context.bytes).to.equal("*2\r\n$3\r\nget\r\n$1\r\na\r\n".length);
    });

    it("sluice:flush ends with an error when the connection is lost", async () => {
      const redis = fixture.connect();
      await untilReady(redis);
      const heard = listen<FlushContext>("sluice:flush");
      const waiting = redis.blpop("list", 0);
      await until(() => heard.length === 1);
      fixture.proxy.cutAll();
      await until(() => heard[0]?.events.length === 5);
      expect(heard[0]?.events).to.deep.equal(FAILED);
      await fixture.control.rpush("list", "x");
      await waiting;
    });

    it("sluice:connection tells of attempts, of the life of a connection and why it was lost", async () => {
      const heard = listen<{ operation: string; epoch: number; downMs?: number | null; error?: Error }>(
        "sluice:connection",
      );
      const redis = fixture.connect();
      await untilReady(redis);
      const mine = (): typeof heard => heard.filter(({ context }) => isOf(context));
      const isOf = (context: object): boolean =>
        (context as { serverPort?: number }).serverPort === redis.options.port;
      fixture.proxy.cutAll();
      await until(() => mine().length === 4);
      const facts = mine().map(({ context: { operation, epoch }, events }) => [
        operation,
        epoch,
        events.length,
      ]);
      expect(facts.slice(0, 3)).to.deep.equal([
        ["attempt", 0, 4],
        ["life", 0, 5],
        ["attempt", 1, 4],
      ]);
      expect(facts[3]).to.deep.equal(["life", 1, 2]);
      expect(mine()[1]?.context.error).to.be.instanceOf(Error);
      expect(mine()[0]?.context.downMs).to.equal(null);
      expect(mine()[2]?.context.downMs).to.be.at.least(0);
    });

    it("sluice:connection tells of planned moves", async () => {
      const heard = listen<{ operation: string; serverPort?: number; error?: Error }>("sluice:connection");
      const server = await ManagedServer.start(2);
      const [first, second] = server.endpoints as [Endpoint, Endpoint];
      const redis = fixture.connect({ port: first.port, maintenance: "on", enableReadyCheck: false });
      const moves = (): typeof heard => heard.filter(({ context }) => context.operation === "move");
      try {
        await redis.ping();
        await until(() => first.listeners === 1);
        first.announce("MOVING", 1, 15, `127.0.0.1:${await freePort()}`);
        await until(() => moves()[0]?.events.length === FAILED.length);
        first.announce("MOVING", 2, 15, second.address);
        await until(() => moves().at(-1)?.events.length === WHOLE.length);
        expect(moves()[0]?.events).to.deep.equal(FAILED);
        expect(moves()[0]?.context.error).to.be.instanceOf(Error);
        expect(moves().at(-1)?.events).to.deep.equal(WHOLE);
        expect(moves().at(-1)?.context.serverPort).to.equal(second.port);
      } finally {
        redis.disconnect();
        await server.stop();
      }
    });

    it("sluice:pubsub tells of the time without subscriptions", async () => {
      const heard = listen<PubSubContext>("sluice:pubsub");
      const redis = fixture.connect();
      await redis.subscribe("a", "b");
      await redis.psubscribe("c*");
      fixture.proxy.cutAll();
      await until(() => heard[0]?.events.length === 4);
      expect(heard).to.have.lengthOf(1);
      expect(heard[0]?.context.subscriptions).to.equal(3);
      expect(heard[0]?.context.gapMs).to.be.above(0);
    });

    it("a subscriber that throws disturbs no command", async () => {
      const redis = fixture.connect();
      await untilReady(redis);
      const thrown = await uncaughtDuring(async () => {
        for (const name of ["sluice:pipeline", "sluice:flush", "sluice:connection"]) {
          const fail = (): void => {
            throw new Error(`from ${name}`);
          };
          const handlers = Object.fromEntries(EVENTS.map((event) => [event, fail]));
          const subscribers = handlers as unknown as TracingChannelSubscribers<object>;
          tracingChannel<unknown, object>(name).subscribe(subscribers);
          stops.push(() => tracingChannel<unknown, object>(name).unsubscribe(subscribers));
        }
        expect(await redis.pipeline().set("a", 1).get("a").exec()).to.deep.equal([
          [null, "OK"],
          [null, "1"],
        ]);
        expect(await redis.get("a")).to.equal("1");
        fixture.proxy.cutAll();
        await until(() => redis.stats().connections.opened === 2);
        expect(await redis.get("a")).to.equal("1");
        for (const stop of stops.splice(0)) stop();
      });
      expect(thrown.length).to.be.above(5);
      for (const message of thrown) expect(message).to.match(/^from sluice:/);
    });
  });

  describe("on a cluster", () => {
    const fixture = new FakeClusterFixture().install();

    it("sluice:redirect tells which node sent what elsewhere, sluice:pipeline how it was divided", async () => {
      const [owner, other] = [fixture.fake.node(OWNER), fixture.fake.node(OTHER)];
      other.values.set(KEY, "there");
      owner.script = ([name, key]) =>
        name === "get" && key === KEY ? new Error(`MOVED ${SLOT} ${other.key}`) : undefined;
      const redirects: unknown[] = [];
      const note = (message: unknown): void => void redirects.push(message);
      channel("sluice:redirect").subscribe(note);
      stops.push(() => channel("sluice:redirect").unsubscribe(note));
      const heard = listen<PipelineContext>("sluice:pipeline");
      const cluster = fixture.connect();
      await cluster.set("bar", 1);
      await cluster.pipeline().get("bar").get(KEY).exec();
      expect(redirects).to.deep.equal([
        { kind: "MOVED", command: "get", slot: SLOT, from: owner.key, to: other.key },
      ]);
      expect(heard[0]?.context).to.include({ size: 2, nodes: 2, queuedMs: null, wireMs: null });
      expect(heard[0]?.context.durationMs).to.be.above(0);
    });
  });
});
