/**
 * Commands that become one, and identical reads that are sent once: what travels, by what the server counts, and
 * that every caller gets what he would have got anyway.
 */

import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { AutoPipeliningWindow } from "../../src/client/options/common-options";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Command, mayHaveRun, Redis } from "../../src/index";
import { FakeServer, RawReply } from "../support/fake-server";
import { closeClient, matrix, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { listen } from "../support/trace-listener";

type Calls = Record<string, number>;

/** Calls of each command since the last look, those that were refused included. */
async function callsOf(server: ServerProcess): Promise<Calls> {
  const text = String(await server.command("INFO", "commandstats"));
  await server.command("CONFIG", "RESETSTAT");
  const calls: Calls = {};
  for (const [, name, count, refused] of text.matchAll(
    /cmdstat_([^:]+):calls=(\d+).*rejected_calls=(\d+)/g,
  )) {
    calls[name as string] = Number(count) + Number(refused);
  }
  return calls;
}

const READS = ["get", "hget", "sismember", "zscore"] as const;

describe("fewer commands", () => {
  matrix(
    "merged reads of one turn",
    { autoPipelining: [false], replyMappings: ["legacy", "resp3"] },
    async ({ connect, server }) => {
      const redis = connect({ enableAutoPipelining: { merge: READS } });
      await redis.hset("h", { a: "1", b: "2" });
      await redis.sadd("s", "x");
      await redis.zadd("z", 1.5, "m");
      await redis.mset("k1", "é", "k2", "v2");
      const ask = (): Promise<unknown[]> =>
        Promise.all([
          redis.hget("h", "a"),
          redis.hgetBuffer("h", "b"),
          redis.hget("h", "none"),
          redis.sismember("s", "x"),
          redis.sismember("s", "y"),
          redis.zscore("z", "m"),
          redis.zscore("z", "n"),
          redis.get("k1"),
          redis.getBuffer("k1"),
          redis.get("k2"),
          redis.get("k3"),
        ]);
      const singly = await ask();
      await callsOf(server);
      expect(await ask()).to.deep.equal(singly);
      expect(singly.slice(0, 3)).to.deep.equal(["1", Buffer.from("2"), null]);
      const calls = await callsOf(server);
      expect(calls).to.include({ hmget: 1, smismember: 1, zmscore: 1, mget: 1 });
      expect(calls).to.not.have.any.keys("hget", "sismember", "zscore", "get");
    },
  );
});

for (const kind of serverKinds()) {
  describe(`fewer commands, ${kind}`, () => {
    let server: ServerProcess;
    const clients: Redis[] = [];
    const open = async (window: AutoPipeliningWindow, options: RedisOptions = {}): Promise<Redis> => {
      const { host, port } = server;
      const redis = new Redis({ host, port, enableAutoPipelining: window, ...options });
      redis.on("error", () => {});
      clients.push(redis);
      await untilReady(redis);
      return redis;
    };
    /** Its forms are known to the client, as if it had been at work for a while. */
    const openProven = async (merge: AutoPipeliningWindow["merge"], options: RedisOptions = {}) => {
      const redis = await open({ merge }, options);
      for (const name of ["get", "hget", "sismember", "zscore"] as const) {
        const call = (): Promise<unknown> => redis.call(name, ...(name === "get" ? ["-"] : ["-", "-"]));
        await Promise.all([call(), call()]);
      }
      await redis.ping();
      await callsOf(server);
      return redis;
    };

    before(async () => {
      server = await sharedServer(kind);
    });
    beforeEach(() => server.command("FLUSHALL"));
    afterEach(async () => {
      await Promise.all(clients.splice(0).map(closeClient));
      await server.command("ACL", "DELUSER", "narrow");
    });

    it("identical reads of a turn are sent once, and everybody gets an answer of his own", async () => {
      const redis = await open({ coalesce: true });
      await redis.rpush("list", "a", "b");
      await callsOf(server);
      const [one, two, bytes, other] = await Promise.all([
        redis.lrange("list", 0, -1),
        redis.lrange("list", "0", "-1"),
        redis.lrangeBuffer(Buffer.from("list"), 0, -1),
        redis.lrange("list", 0, 0),
      ]);
      expect(one).to.deep.equal(["a", "b"]);
      expect(two).to.deep.equal(one);
      expect(two === one).to.equal(false);
      expect(bytes).to.deep.equal([Buffer.from("a"), Buffer.from("b")]);
      expect(other).to.deep.equal(["a"]);
      expect(await callsOf(server)).to.include({ lrange: 2 });
    });

    it("a read is not taken over a write of its key, a script without keys or a failure", async () => {
      const redis = await open({ coalesce: true });
      await callsOf(server);
      const replies = await Promise.all([
        redis.get("a"),
        redis.set("b", "1"),
        redis.get("a"),
        redis.set(Buffer.from("a"), "1"),
        redis.get("a"),
        redis.eval("return redis.call('set', 'a', '2')", 0),
        redis.get("a"),
        redis.get("a"),
      ]);
      expect(replies).to.deep.equal([null, "OK", null, "OK", "1", "OK", "2", "2"]);
      expect(await callsOf(server)).to.include({ get: 3 });
      const failures = await Promise.all([failureOf(redis.llen("a")), failureOf(redis.llen("a"))]);
      expect(failures[0]?.message)
        .to.equal(failures[1]?.message)
        .and.match(/^WRONGTYPE/);
      expect(failures[0]).to.not.equal(failures[1]);
    });

    it("pipelines are merged that ask for it, and no others", async () => {
      const redis = await openProven(false);
      const fill = (options: object) =>
        redis.pipeline(options).hget("h", "a").hget("h", "b").get("x").get("y").getBuffer("y").exec();
      await redis.hset("h", "a", "1");
      await redis.pipeline({ merge: READS }).get("x").get("y").hget("h", "a").hget("h", "b").exec();
      await redis.set("y", "2");
      await callsOf(server);
      const rows = [
        [null, "1"],
        [null, null],
        [null, null],
        [null, "2"],
        [null, Buffer.from("2")],
      ];
      expect(await fill({ merge: READS })).to.deep.equal(rows);
      expect(await callsOf(server))
        .to.include({ hmget: 1, mget: 1 })
        .and.not.have.any.keys("get", "hget");
      expect(await fill({})).to.deep.equal(rows);
      expect(await callsOf(server)).to.include({ hget: 2, get: 3 });
    });

    it("each caller of a key of another type gets an error of his own, about his own command", async () => {
      const redis = await openProven(true);
      await redis.set("text", "1");
      await callsOf(server);
      const failures = await Promise.all(["a", "b"].map((field) => failureOf(redis.hget("text", field))));
      expect(await callsOf(server)).to.include({ hmget: 1 });
      expect(failures[0]).to.not.equal(failures[1]);
      const commands = failures.map((error) => (error as { command?: unknown }).command);
      expect(commands).to.deep.equal([
        { name: "hget", args: ["text", "a"] },
        { name: "hget", args: ["text", "b"] },
      ]);
    });

    it("writes: pushes are told their own lengths, SET becomes MSET and HMSET one HMSET", async () => {
      const redis = await open({ merge: ["rpush", "lpush", "set", "hmset"] }, { keyPrefix: "p:" });
      await Promise.all([redis.set("x", ""), redis.set("y", "")]);
      await redis.ping();
      await callsOf(server);
      const replies = await Promise.all([
        redis.rpush("l", "a"),
        redis.rpush("l", "b", "c"),
        redis.lpush("l", "z"),
        redis.lpush("l", "y"),
        redis.hmset("h", "a", "1"),
        redis.hmset("h", { b: "2", c: "3" }),
        redis.set("x", "1"),
        redis.setBuffer("y", Buffer.from([0xff])),
        redis.set("x", "2"),
      ]);
      expect(replies).to.deep.equal([1, 3, 4, 5, "OK", "OK", "OK", Buffer.from("OK"), "OK"]);
      const calls = await callsOf(server);
      expect(calls).to.include({ rpush: 1, lpush: 1, hmset: 1, mset: 1 }).and.not.have.any.keys("set");
      expect(await redis.lrange("l", 0, -1)).to.deep.equal(["y", "z", "a", "b", "c"]);
      expect(await redis.get("x")).to.equal("2");
      expect(await redis.getBuffer("y")).to.deep.equal(Buffer.from([0xff]));
      expect(await server.command("EXISTS", "p:x", "p:y")).to.equal(2);
    });

    it("at most 128 commands or 64 KiB become one", async () => {
      const redis = await openProven(READS);
      await Promise.all(Array.from({ length: 300 }, (_, index) => redis.get(`k${index}`)));
      expect(await callsOf(server)).to.include({ mget: 3 });
      const long = "k".repeat(30 * 1024);
      await Promise.all(["a", "b", "c", "d", "e"].map((end) => redis.get(long + end)));
      expect(await callsOf(server)).to.include({ mget: 2, get: 1 });
    });

    it("a turn of many hundreds leaves in pieces, each merged, in order", async () => {
      const redis = await openProven(["get", "set"]);
      const keys = Array.from({ length: 1000 }, (_, index) => `k${index % 700}`);
      const ask = async (): Promise<void> => {
        const writing = keys.map((key, index) => redis.set(key, String(index)));
        const reading = keys.map((key) => redis.get(key));
        expect(new Set(await Promise.all(writing))).to.deep.equal(new Set(["OK"]));
        const last = keys.map((_, index) => String(index < 300 ? index + 700 : index));
        expect(await Promise.all(reading)).to.deep.equal(last);
      };
      // Whether MSET may be used is seen at the end of a turn.
      await Promise.all(keys.map((key) => redis.set(key, "")));
      await callsOf(server);
      await ask();
      const calls = await callsOf(server);
      expect(calls).to.not.have.any.keys("get", "set");
      expect(calls).to.include({ mset: 8 });
    });

    it("writes of a user who may not use the other command do not fail beside other batches", async () => {
      await server.command("ACL", "SETUSER", "narrow", "on", ">pw", "~*", "+@all", "-mset");
      const redis = await open({}, { username: "narrow", password: "pw" });
      const write = (value: string) =>
        redis
          .pipeline({ merge: ["set"] })
          .set("a", value)
          .set("b", value);
      const [first, read, last] = await Promise.all([write("1").exec(), redis.get("a"), write("2").exec()]);
      const done = [
        [null, "OK"],
        [null, "OK"],
      ];
      expect([first, read, last]).to.deep.equal([done, "1", done]);
    });

    it("a long turn of a user who may not use the other command is written singly, in order", async () => {
      await server.command("ACL", "SETUSER", "narrow", "on", ">pw", "~*", "+@all", "-mset");
      const redis = await open({ merge: ["set"] }, { username: "narrow", password: "pw" });
      const writes = Array.from({ length: 900 }, (_, index) => redis.set(`k${index % 200}`, String(index)));
      expect(new Set(await Promise.all(writes))).to.deep.equal(new Set(["OK"]));
      expect(await redis.get("k50")).to.equal("850");
    });

    it("a user who may not use the other command is served singly, which is remembered", async () => {
      await server.command("ACL", "SETUSER", "narrow", "on", ">pw", "~*", "+@all", "-hmget", "-mset");
      const redis = await open({ merge: ["hget", "set"] }, { username: "narrow", password: "pw" });
      await server.command("HSET", "h", "a", "1", "b", "2");
      await callsOf(server);
      const ask = (): Promise<unknown[]> => Promise.all([redis.hget("h", "a"), redis.hget("h", "b")]);
      for (let turn = 0; turn < 3; turn++) expect(await ask()).to.deep.equal(["1", "2"]);
      expect(await callsOf(server)).to.include({ hget: 6, hmget: 1 });
      const write = (): Promise<unknown[]> => Promise.all([redis.set("x", "1"), redis.set("y", "2")]);
      for (let turn = 0; turn < 3; turn++) expect(await write()).to.deep.equal(["OK", "OK"]);
      expect(await callsOf(server)).to.include({ set: 6, mset: 1 });
      expect(await server.command("MGET", "x", "y")).to.deep.equal(["1", "2"]);
    });

    it("a key that the user may not read fails alone", async () => {
      await server.command("ACL", "SETUSER", "narrow", "on", ">pw", "~a*", "+@all");
      await server.command("MSET", "a1", "1", "b1", "2");
      const redis = await open({ merge: ["get"] }, { username: "narrow", password: "pw" });
      const ask = (key: string) => redis.get(key).catch((error: Error) => error.message.slice(0, 6));
      // Proven by a key that it may read.
      await Promise.all([ask("a1"), ask("a2")]);
      expect(await Promise.all([ask("a1"), ask("b1"), ask("a2")])).to.deep.equal(["1", "NOPERM", null]);
    });

    it("a user of a part of the keys gets what each command gets by itself, whatever follows in the batch", async () => {
      await server.command("ACL", "SETUSER", "narrow", "on", ">pw", "~a*", "+@all");
      const redis = await open({ merge: ["get", "set"] }, { username: "narrow", password: "pw" });
      const outcome = (call: Promise<unknown>) => call.catch((error: Error) => error.message.slice(0, 6));
      const write = (value: string) => [outcome(redis.set("a1", value)), outcome(redis.set("b1", value))];
      for (let turn = 0; turn < 3; turn++) {
        await server.command("MSET", "a1", "old", "a2", "2", "b1", "1");
        const keys = ["a1", "a2", "b1"];
        const calls = [
          ...keys.map((key) => outcome(redis.get(key))),
          ...write("new"),
          outcome(redis.get("a1")),
        ];
        const [first, ...others] = await Promise.all([...calls, ...write("last")]);
        expect([first, ...others]).to.deep.equal([
          "old",
          "2",
          "NOPERM",
          "OK",
          "NOPERM",
          "new",
          "OK",
          "NOPERM",
        ]);
        expect(await server.command("MGET", "a1", "b1")).to.deep.equal(["last", "1"]);
      }
    });

    it("two batches of such a user, handed over at once, are answered in the order of issue", async () => {
      await server.command("ACL", "SETUSER", "narrow", "on", ">pw", "~a*", "+@all");
      const redis = await open({}, { username: "narrow", password: "pw" });
      const ask = () =>
        redis
          .pipeline({ merge: ["get"] })
          .get("a")
          .get("b");
      await ask().exec();
      await server.command("SET", "a", "old");
      const [rows] = await Promise.all([ask().exec(), redis.set("a", "new")]);
      expect(rows?.[0]).to.deep.equal([null, "old"]);
      expect(rows?.[1]?.[0]?.message).to.match(/^NOPERM/);
    });

    it("rights that come back are used again", async () => {
      await server.command("ACL", "SETUSER", "narrow", "on", ">pw", "~a*", "+@all");
      const redis = await open({ merge: ["get", "hget"] }, { username: "narrow", password: "pw" });
      await server.command("ACL", "SETUSER", "narrow", "-hmget");
      const ask = () =>
        Promise.all([redis.get("a1"), redis.get("a2"), redis.hget("ah", "f"), redis.hget("ah", "g")]);
      await callsOf(server);
      for (let turn = 0; turn < 4; turn++) expect(await ask()).to.deep.equal([null, null, null, null]);
      expect(await callsOf(server)).to.include({ get: 8, mget: 1, hget: 8, hmget: 1 });
      await server.command("ACL", "SETUSER", "narrow", "allkeys", "+hmget");
      for (let turn = 0; turn < 80; turn++) await ask();
      await callsOf(server);
      await ask();
      expect(await callsOf(server))
        .to.include({ mget: 1, hmget: 1 })
        .and.not.have.any.keys("get", "hget");
    });

    it("a read that was refused is not answered with what was written behind it", async () => {
      await server.command("ACL", "SETUSER", "narrow", "on", ">pw", "~*", "+@all");
      const redis = await open({}, { username: "narrow", password: "pw" });
      await server.command("MSET", "a", "old", "b", "old");
      const ask = () =>
        redis
          .pipeline({ merge: ["get"] })
          .get("a")
          .get("b");
      await ask().exec();
      expect(await ask().exec()).to.deep.equal([
        [null, "old"],
        [null, "old"],
      ]);
      await server.command("ACL", "SETUSER", "narrow", "-mget");
      const rows = (await ask().set("a", "new").exec()) as [Error | null, unknown][];
      expect(rows[0]?.[0]?.message).to.match(/^NOPERM/);
      expect(rows.slice(1)).to.deep.equal([
        [null, "old"],
        [null, "OK"],
      ]);
      expect(await ask().exec()).to.deep.equal([
        [null, "new"],
        [null, "old"],
      ]);
    });

    it("tracers see each command, and none that nobody issued", async () => {
      const redis = await openProven(READS);
      const { heard, stop } = listen();
      await Promise.all([redis.get("a"), redis.get("b")]);
      stop();
      const seen = heard.filter(({ event }) => event === "command:start").map(({ context }) => context);
      expect(seen.map(({ command }) => command)).to.deep.equal(["get", "get"]);
      expect(heard.filter(({ event }) => event === "command:asyncEnd")).to.have.length(2);
      expect(await callsOf(server)).to.include({ mget: 1 });
    });

    it("a command that was given up before it was written does not go with the others", async () => {
      const redis = await open({ merge: ["set"] });
      const controller = new AbortController();
      const view = redis.with({ signal: controller.signal });
      const replies = [redis.set("a", "1"), failureOf(view.set("b", "2")), redis.set("c", "3")];
      controller.abort();
      const [first, given, last] = await Promise.all(replies);
      expect([first, last]).to.deep.equal(["OK", "OK"]);
      expect((given as Error).message).to.match(/abort/i);
      expect(await server.command("MGET", "a", "b", "c")).to.deep.equal(["1", null, "3"]);
    });

    it("transformers of replies are those of the command that was called", async () => {
      const redis = await openProven(READS);
      const table = Command as unknown as { setReplyTransformer(name: string, map: unknown): void };
      table.setReplyTransformer("mget", () => "wrong");
      table.setReplyTransformer("get", (value: unknown) => `<${String(value)}>`);
      try {
        expect(await Promise.all([redis.get("a"), redis.get("b")])).to.deep.equal(["<null>", "<null>"]);
      } finally {
        table.setReplyTransformer("mget", null);
        table.setReplyTransformer("get", null);
      }
    });
  });
}

describe("fewer commands over a bad line", () => {
  const fixture = new ServerFixture().install();

  for (const retryPolicy of ["at-least-once", "reads-only"] as const) {
    it(`${retryPolicy}: what was merged when the line was lost is sent again by the rules of each command`, async () => {
      const redis = fixture.connect({ retryPolicy, enableAutoPipelining: { merge: ["get", "set"] } });
      await fixture.control.mset("a", "1", "b", "2");
      const ask = () => [redis.get("a"), redis.get("b")];
      await Promise.all(ask());
      await Promise.all(ask());
      await Promise.all([redis.set("x", "1"), redis.set("y", "2")]);
      await redis.ping();
      fixture.proxy.fallSilent("toClient");
      const reads = Promise.all(ask());
      const writes = [redis.set("c", "3"), redis.set("d", "4")].map((call) =>
        call.catch((error: Error & { code?: string }) => `${error.code}: ${error.message}`),
      );
      while ((await fixture.control.exists("c")) === 0);
      fixture.proxy.heal();
      fixture.proxy.cutAll();
      expect(await reads).to.deep.equal(["1", "2"]);
      for (const outcome of await Promise.all(writes)) {
        if (retryPolicy === "at-least-once") expect(outcome).to.equal("OK");
        else expect(outcome).to.match(/^OUTCOME_UNKNOWN: Outcome unknown: "mset" was written/);
      }
    });
  }

  it("a member that times out may have run, because the merged command is written", async () => {
    const redis = fixture.connect({ enableAutoPipelining: { merge: ["set"] } });
    await Promise.all([redis.set("x", "1"), redis.set("y", "2")]);
    await redis.ping();
    fixture.proxy.fallSilent();
    const view = redis.with({ timeout: 50 });
    const [written, other] = [failureOf(view.set("a", "1")), redis.set("b", "2")];
    const { command } = (await written) as Error & { command?: unknown };
    expect(command).to.deep.equal({ name: "set", args: ["a", "1"] });
    expect(mayHaveRun(await written)).to.equal(true);
    fixture.proxy.heal();
    fixture.proxy.cutAll();
    expect(await other).to.equal("OK");
  });

  it("a reply that ends in the middle is no reply", async () => {
    const redis = fixture.connect({ enableAutoPipelining: { merge: ["get"] } });
    await fixture.control.mset("a", "1".repeat(100), "b", "2".repeat(100));
    const ask = () => Promise.all([redis.get("a"), redis.get("b")]);
    const whole = await ask();
    await redis.ping();
    fixture.proxy.cut({ afterBytes: 120 });
    expect(await ask()).to.deep.equal(whole);
  });
});

describe("fewer commands, a scripted server", () => {
  let server: FakeServer;
  let redis: Redis;
  afterEach(async () => {
    await closeClient(redis);
    await server.stop();
  });
  const open = async (): Promise<void> => {
    redis = new Redis(server.url, { protocol: 2, enableAutoPipelining: { merge: ["get", "sismember"] } });
    await untilReady(redis);
  };
  const names = (): (string | undefined)[] =>
    server.received.map(([name]) => name).filter((name) => /get|member/.test(name ?? ""));

  it("a server that does not know the command is asked once", async () => {
    server = await FakeServer.start(([name]) => (name === "sismember" ? 1 : undefined));
    await open();
    for (let turn = 0; turn < 3; turn++) {
      expect(await Promise.all([redis.sismember("s", "a"), redis.sismember("s", "b")])).to.deep.equal([1, 1]);
    }
    expect(names().filter((name) => name === "smismember")).to.have.length(1);
    expect(names().filter((name) => name === "sismember")).to.have.length(6);
  });

  it("a reply without an element for each fails each", async () => {
    let isRight = true;
    server = await FakeServer.start(([name, ...keys]) => {
      if (name === "mget") return isRight ? keys : keys.slice(1);
      return name === "get" ? new RawReply("+x\r\n") : undefined;
    });
    await open();
    await Promise.all([redis.get("a"), redis.get("b")]);
    await redis.get("c");
    isRight = false;
    const failures = await Promise.all([failureOf(redis.get("a")), failureOf(redis.get("b"))]);
    expect(failures.map(({ code }) => code)).to.deep.equal(["UNEXPECTED_REPLY", "UNEXPECTED_REPLY"]);
  });
});

describe("the options of fewer commands", () => {
  it("names that cannot be merged are refused", () => {
    const wrong = { enableAutoPipelining: { merge: ["hset"] } } as unknown as RedisOptions;
    expect(() => new Redis(wrong)).to.throw(
      /enableAutoPipelining.merge "hset": expected true, false or a list of/,
    );
  });
});
