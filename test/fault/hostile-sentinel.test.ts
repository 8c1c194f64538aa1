/**
 * Sentinels that are broken or mean harm: garbage, wrong masters, themselves, each other, crowds,
 * silence. What is held: a good sentinel among them is found, without one everything ends with an
 * error that tells what happened, and questions, connections and what is learned are bounded.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { type FakeReply, FakeServer, NO_REPLY, RawReply } from "../support/fake-server";
import { closeClient } from "../support/matrix";
import { failureOf, outcomeOf } from "../support/outcome";
import { fixedRuns } from "../support/properties";

type Script = (words: string[]) => FakeReply | undefined;

const ROUNDS = 3;
/** Most sentinels that are remembered. */
const MAX_SENTINELS = 256;

describe("hostile sentinels", () => {
  const servers: FakeServer[] = [];
  const clients: Redis[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeClient));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    expect(Object.keys(Object.prototype)).to.deep.equal([]);
  });

  async function serve(script: Script): Promise<FakeServer> {
    const server = await FakeServer.start(script);
    servers.push(server);
    return server;
  }

  /** A sentinel that gives one answer to every question. */
  function sentinel(answer: (words: string[]) => FakeReply): Promise<FakeServer> {
    let isSilent = false;
    return serve((words) => {
      if (words[0] === "info") return "role:sentinel\r\n";
      // Nothing is answered behind the question.
      if (words[0] !== "sentinel") return isSilent && words[1] === "ID" ? NO_REPLY : undefined;
      const reply = answer(words);
      isSilent = reply === NO_REPLY;
      return reply;
    });
  }

  function data(role = "master"): Promise<FakeServer> {
    return serve((words) => {
      if (words[0] === "info") return `role:${role}\r\n`;
      return words[0] === "get" ? "value" : undefined;
    });
  }

  function goodSentinel(master: FakeServer): Promise<FakeServer> {
    return sentinel(([, question]) => (question === "sentinels" ? [] : [master.host, String(master.port)]));
  }

  function make(sentinels: readonly FakeServer[], options: RedisOptions = {}): Redis {
    const redis = new Redis({
      sentinels: sentinels.map(({ host, port }) => ({ host, port })),
      name: "group",
      lazyConnect: true,
      connectTimeout: 300,
      sentinelRetryStrategy: (round) => (round < ROUNDS ? 2 : null),
      retryStrategy: (times) => (times < 5 ? 2 : null),
      ...options,
    });
    redis.on("error", () => {});
    clients.push(redis);
    return redis;
  }

  const INVALID: [name: string, answer: () => FakeReply][] = [
    ["nothing", () => null],
    ["a text", () => "127.0.0.1:6379"],
    ["a number", () => 6379],
    ["an empty list", () => []],
    ["a host without a port", () => ["127.0.0.1"]],
    ["an empty host", () => ["", "6379"]],
    ["nested lists", () => [["127.0.0.1"], ["6379"]]],
    ["port 0", () => ["127.0.0.1", "0"]],
    ["port 65536", () => ["127.0.0.1", "65536"]],
    ["a hexadecimal port", () => ["127.0.0.1", "0x18eb"]],
    ["a port with an exponent", () => ["127.0.0.1", "1e3"]],
    ["a port with a blank", () => ["127.0.0.1", " 6379"]],
    ["a host with a line end", () => ["a\r\nFLUSHALL\r\n", "6379"]],
    ["a path for a host", () => ["/var/run/redis.sock", "6379"]],
    ["a host of 10 MB", () => ["a".repeat(10_000_000), "6379"]],
  ];
  for (const [name, answer] of INVALID) {
    it(`${name} is an invalid reply, whose words go nowhere`, async () => {
      const bad = await sentinel(answer);
      const redis = make([bad], { connectTimeout: 5000 });
      const told: Error[] = [];
      redis.on("sentinelError", (error: Error) => told.push(error));
      expect(await failureOf(redis.get("key"))).to.include({
        code: "SENTINELS_UNREACHABLE",
        message: "All sentinels are unreachable and retry is disabled.",
      });
      expect(told.map(({ message }) => message)).to.deep.equal(
        new Array(ROUNDS).fill(
          `connected to sentinel ${bad.host}:${bad.port} successfully, but got an invalid reply: null`,
        ),
      );
      expect(bad.connectionCount).to.equal(ROUNDS);
      expect(redis.status).to.equal("end");
    });
  }

  const TIMED_OUT = /Command timed out/;
  const BROKEN: [name: string, answer: FakeReply, reason: RegExp][] = [
    ["an error", new Error("IDONTKNOW no such thing"), /IDONTKNOW/],
    ["a nest of 100,000 levels", new RawReply("*1\r\n".repeat(100_000)), /nesting deeper than 1024/],
    ["an unknown type", new RawReply("@\r\n"), /Unknown RESP type/],
    [
      "a line of 20 MB",
      new RawReply(`+${"x".repeat(20_000_000)}\r\n`),
      /more than a string can hold|value of/,
    ],
    ["2^31-1 announced elements and no more", new RawReply("*2147483647\r\n"), TIMED_OUT],
    ["nothing at all", NO_REPLY, TIMED_OUT],
  ];
  for (const [name, answer, reason] of BROKEN) {
    it(`${name}: the next sentinel is asked, and without one the reason is told`, async () => {
      const bad = await sentinel(() => answer);
      const options = reason === TIMED_OUT ? {} : { connectTimeout: 5000 };
      const failure = await failureOf(make([bad], options).get("key"));
      expect(failure).to.include({ code: "SENTINELS_UNREACHABLE" });
      expect(failure.message).to.match(reason);
      expect(failure.cause?.message).to.match(reason);
      expect(bad.connectionCount).to.equal(ROUNDS);
      const good = await goodSentinel(await data());
      expect(await make([bad, good], options).get("key")).to.equal("value");
    });
  }

  it("silence is waited for as long as sentinelCommandTimeout says, where it is set", async () => {
    const silent = await sentinel(() => NO_REPLY);
    const good = await goodSentinel(await data());
    const redis = make([silent, good], { connectTimeout: 60_000, sentinelCommandTimeout: 40 });
    expect(await redis.get("key")).to.equal("value");
  });

  it("an address that is the sentinel itself is left, as often as retries allow", async () => {
    const vain: FakeServer = await sentinel(([, question]) =>
      question === "sentinels" ? [] : [vain.host, String(vain.port)],
    );
    const failure = await failureOf(make([vain]).get("key"));
    expect(failure).to.include({ code: "CONNECTION_CLOSED" });
    // Once as a sentinel and once as a server, for the first attempt and each retry.
    expect(vain.connectionCount).to.equal(2 * 5);
    expect(vain.received.some(([word]) => word === "get")).to.equal(false);
  });

  it("sentinels that name each other end the same way", async () => {
    const pair: FakeServer[] = [];
    for (const other of [1, 0]) {
      pair.push(
        await sentinel(([, question]) => {
          const { host, port } = pair[other] as FakeServer;
          return question === "sentinels" ? [] : [host, String(port)];
        }),
      );
    }
    expect(await failureOf(make(pair).get("key"))).to.include({ code: "CONNECTION_CLOSED" });
    expect(pair.reduce((sum, { connectionCount }) => sum + connectionCount, 0)).to.equal(2 * 5);
  });

  it("a wrong master never gets a command, and the right one is found behind it", async () => {
    const [replica, master] = [await data("slave"), await data()];
    const redis = make([await goodSentinel(replica), await goodSentinel(master)]);
    expect(await redis.get("key")).to.equal("value");
    expect(replica.received.some(([word]) => word === "get")).to.equal(false);
    const lost = make([await goodSentinel(replica)]);
    expect(await failureOf(lost.get("key"))).to.include({ code: "CONNECTION_CLOSED" });
    expect(replica.received.some(([word]) => word === "get")).to.equal(false);
  });

  it("a crowd of sentinels is learned up to a bound, and asked once a round", async () => {
    const names = Array.from(
      { length: 100_000 },
      (_, i): FakeReply => ["ip", `127.${10 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`, "port", "1"],
    );
    const crowded = await sentinel(([, question]) => (question === "sentinels" ? names : null));
    const redis = make([crowded], { connectTimeout: 10_000, sentinelRetryStrategy: null });
    let told = 0;
    redis.on("sentinelError", () => told++);
    expect(await failureOf(redis.get("key"))).to.include({ code: "SENTINELS_UNREACHABLE" });
    expect(told).to.equal(MAX_SENTINELS);
    expect(crowded.connectionCount).to.equal(1);
  });

  it("a list with endless fields is read up to a bound", async () => {
    const endless: FakeReply = ["ip", "127.0.0.1", "port", "1", ...Array(200_000).fill("x")];
    const bad = await sentinel(([, question]) => (question === "slaves" ? [endless, 5, "x"] : null));
    let given: Record<string, unknown> = {};
    const redis = make([bad], {
      role: "slave",
      connectTimeout: 10_000,
      preferredSlaves: (replicas) => {
        given = replicas[0] ?? {};
        return null;
      },
    });
    expect(await failureOf(redis.get("key"))).to.have.property("code");
    expect(given).to.deep.equal({ ip: "127.0.0.1", port: "1", x: "x" });
  });

  it("fields named like those of prototypes stay fields", async () => {
    const replica = await data("slave");
    const entry: FakeReply = ["__proto__", "p", "constructor", "c", "ip", replica.host, "port"];
    const bad = await sentinel(() => [[...entry, String(replica.port)]]);
    const seen: string[][] = [];
    const redis = make([bad], {
      role: "slave",
      preferredSlaves: (replicas) => {
        for (const one of replicas) {
          expect(Object.getPrototypeOf(one)).to.equal(Object.prototype);
          seen.push(Object.keys(one));
        }
        return null;
      },
    });
    expect(await redis.get("key")).to.equal("value");
    expect(seen).to.deep.equal([["__proto__", "constructor", "ip", "port"]]);
  });

  it("endless news of failovers cost one reconnect each, paced by retryStrategy", async () => {
    const master = await data();
    const noisy = await serve(([word, question]) => {
      if (word === "subscribe") {
        const news = `*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$7\r\ngroup x\r\n`;
        return new RawReply(`*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n${news.repeat(50)}`);
      }
      if (word !== "sentinel") return undefined;
      return question === "sentinels" ? [] : [master.host, String(master.port)];
    });
    const pauses: number[] = [];
    const redis = make([noisy], {
      failoverDetector: true,
      retryStrategy: (times) => {
        pauses.push(times);
        return 20;
      },
    });
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => {
        redis.once("reconnecting", resolve);
        redis.connect().catch(() => {});
      });
    }
    // Each connection to the master is followed by at most one pause.
    expect(master.connectionCount).to.be.within(1, pauses.length + 1);
    redis.disconnect();
  });

  it("random answers: every call settles, questions are bounded", async function () {
    this.timeout(600_000);
    const master = await data();
    let answer: FakeReply = null;
    const odd = await sentinel(() => answer);
    const scalar: fc.Arbitrary<FakeReply> = fc.oneof(
      fc.constantFrom(null, "ip", "port", "flags", "127.0.0.1", "__proto__", "6379"),
      fc.integer({ min: -1, max: 70_000 }),
      fc.string(),
    );
    const { reply } = fc.letrec<{ reply: FakeReply }>((tie) => ({
      reply: fc.oneof({ depthSize: "small" }, scalar, fc.array(tie("reply"), { maxLength: 8 })),
    }));
    await fc.assert(
      fc.asyncProperty(reply, fc.constantFrom("master", "slave"), async (random, role) => {
        answer = random;
        const before = odd.connectionCount;
        // Only this machine is dialled, for any random names.
        const natMap = (): { host: string; port: number } => ({ host: master.host, port: master.port });
        const redis = make([odd], { natMap, role: role as "master" });
        const [state] = await outcomeOf(redis.get("key"), 20_000);
        expect(state).to.not.equal("pending");
        expect(odd.connectionCount - before).to.be.at.most(10 + MAX_SENTINELS);
        clients.splice(clients.indexOf(redis), 1);
        await closeClient(redis);
      }),
      fixedRuns(60),
    );
  });
});
