/**
 * How a client finds its server through sentinels: answers that real sentinels give only in
 * trouble come from scripted ones.
 */

import type { Socket } from "node:net";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis, SentinelConnector, SentinelIterator } from "../../src/index";
import { type FakeReply, FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";

type Answer = (words: string[]) => FakeReply | undefined;

describe("sentinel resolution", () => {
  const servers: FakeServer[] = [];
  const clients: Redis[] = [];

  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeClient));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  async function fake(answer: Answer): Promise<FakeServer> {
    const server = await FakeServer.start(answer);
    servers.push(server);
    return server;
  }

  /** A data node that says what it is. */
  function node(role = "master"): Promise<FakeServer> {
    return fake((words) => {
      if (words[0] === "info") return `role:${role}\r\n`;
      return words[0] === "get" ? "v" : undefined;
    });
  }

  /** A sentinel that knows one master, and others of its kind. */
  function sentinel(master: FakeServer | null, others: FakeReply[] = []): Promise<FakeServer> {
    return fake((words) => {
      if (words[0] !== "sentinel") return undefined;
      if (words[1] === "sentinels") return others;
      return master === null ? null : [master.host, String(master.port)];
    });
  }

  function connect(sentinels: readonly { host: string; port: number }[], options: RedisOptions = {}): Redis {
    const redis = new Redis({
      sentinels: sentinels.map(({ host, port }) => ({ host, port })),
      name: "group",
      retryStrategy: () => 5,
      ...options,
    });
    redis.on("error", () => {});
    clients.push(redis);
    return redis;
  }

  function record(redis: Redis, ...events: string[]): string[] {
    const seen: string[] = [];
    for (const event of events) {
      redis.on(event, (value: unknown) => seen.push(value instanceof Error ? value.message : event));
    }
    return seen;
  }

  const asked = (server: FakeServer): number =>
    server.received.filter((words) => words[1] === "get-master-addr-by-name").length;

  it("wants sentinels and a name", () => {
    expect(() => new Redis({ sentinels: [], name: "x" })).to.throw(
      "Requires at least one sentinel to connect to.",
    );
    expect(() => new Redis({ sentinels: [{ port: 1 }] })).to.throw("Requires the name of master.");
  });

  it("asks the first, connects to what it names, and keeps options as they are", async () => {
    const master = await node();
    const first = await sentinel(master);
    const second = await sentinel(master);
    const redis = connect([first, second], { failoverDetector: false });
    expect(redis.status).to.equal("connecting");
    expect(await redis.get("a")).to.equal("v");
    expect([asked(first), asked(second)]).to.deep.equal([1, 0]);
    expect([redis.options.host, redis.options.port]).to.deep.equal(["localhost", 6379]);
    expect(first.received.map((words) => words.slice(0, 2).join(" "))).to.include("sentinel sentinels");
    expect(first.openConnections).to.equal(0);
  });

  it("listens to the sentinel that answered, over one connection, unless it reads from a replica", async () => {
    const master = await node();
    const [first, second] = [await sentinel(master), await sentinel(master)];
    const redis = connect([first, second]);
    await new Promise((resolve) => redis.once("failoverSubscribed", resolve));
    const heard = (server: FakeServer): number =>
      server.received.filter((words) => words[0] === "subscribe" && words[1] === "+switch-master").length;
    expect([heard(first), heard(second)]).to.deep.equal([1, 0]);
    expect([first.openConnections, second.openConnections]).to.deep.equal([1, 0]);
    // Its only ear is lost: the other sentinel is asked and listened to.
    const again = new Promise((resolve) => redis.once("failoverSubscribed", resolve));
    first.dropConnections();
    await again;
    expect(heard(first) + heard(second)).to.equal(2);
    expect(await redis.get("a")).to.equal("v");
  });

  it("keeps the credentials of sentinels and servers apart", async () => {
    const master = await node();
    const first = await sentinel(master);
    const redis = connect([first], {
      sentinelUsername: "su",
      sentinelPassword: "sp",
      username: "u",
      password: "p",
      protocol: 2,
    });
    await redis.get("a");
    expect(first.received).to.deep.include(["auth", "su", "sp"]);
    expect(master.received).to.deep.include(["auth", "u", "p"]);
    expect([...first.received, ...master.received].filter(([word]) => word === "auth")).to.have.length(2);
  });

  it("goes to the next when one fails or knows nothing, and says so", async () => {
    const master = await node();
    const broken = await fake((words) =>
      words[0] === "sentinel" ? new Error("ERR No such master with that name") : undefined,
    );
    const ignorant = await sentinel(null);
    const gone = { host: "127.0.0.1", port: 1 };
    const redis = connect([broken, ignorant, gone, await sentinel(master)]);
    const seen = record(redis, "sentinelError");
    await untilReady(redis);
    expect(seen).to.deep.equal([
      `failed to connect to sentinel ${broken.host}:${broken.port} because ERR No such master with that name`,
      `connected to sentinel ${ignorant.host}:${ignorant.port} successfully, but got an invalid reply: null`,
      "failed to connect to sentinel 127.0.0.1:1 because Connection is closed.",
    ]);
  });

  it("begins again after sentinelRetryStrategy when all have failed", async () => {
    const master = await node();
    let isKnown = false;
    const first = await fake((words) => {
      if (words[0] !== "sentinel") return undefined;
      if (words[1] === "sentinels") return [];
      return isKnown ? [master.host, String(master.port)] : new Error("ERR nobody");
    });
    const rounds: number[] = [];
    const redis = connect([first], {
      sentinelRetryStrategy: (round: number) => {
        rounds.push(round);
        isKnown = round === 3;
        return 1;
      },
    });
    const seen = record(redis, "error");
    await untilReady(redis);
    expect(rounds).to.deep.equal([1, 2, 3]);
    expect(seen).to.deep.equal(
      Array(3).fill("All sentinels are unreachable. Retrying from scratch after 1ms. Last error: ERR nobody"),
    );
  });

  it("without a retry everything that waits fails and the client ends, with no close", async () => {
    for (const sentinelRetryStrategy of [null, () => undefined, () => "5" as never]) {
      const redis = connect([await sentinel(null)], { sentinelRetryStrategy, lazyConnect: true });
      const events = record(redis, "error", "close", "reconnecting", "end");
      const results = await Promise.allSettled([
        redis.connect(),
        redis.get("a"),
        redis.pipeline().get("b").exec(),
      ]);
      const text = "All sentinels are unreachable and retry is disabled.";
      expect((results[0] as PromiseRejectedResult).reason.message).to.equal(text);
      expect((results[1] as PromiseRejectedResult).reason.message).to.equal(text);
      expect((results[2] as unknown as PromiseFulfilledResult<[[Error]]>).value[0][0].message).to.equal(text);
      await new Promise((resolve) => setImmediate(resolve));
      expect(events).to.deep.equal([text, "end"]);
      expect(redis.status).to.equal("end");
    }
  });

  it("asks all of them once in a round, wherever it begins", async () => {
    const master = await node();
    const all = [await sentinel(master), await sentinel(master), await sentinel(master)];
    const redis = connect(all, { failoverDetector: false });
    const errors = record(redis, "error");
    for (let round = 0; round < 5; round++) {
      await untilReady(redis);
      const closed = new Promise((resolve) => redis.once("close", resolve));
      master.dropConnections();
      await closed;
    }
    await untilReady(redis);
    expect(all.map(asked)).to.deep.equal([2, 2, 2]);
    expect(errors).to.deep.equal([]);
  });

  it("disconnect() while a sentinel is silent, or between two rounds, ends the client", async () => {
    const silent = await fake((words) => (words[0] === "sentinel" ? NO_REPLY : undefined));
    const waiting = connect([silent]);
    const early = waiting.get("a").catch((error: Error) => error.message);
    while (!silent.received.some(([word]) => word === "sentinel")) await new Promise((r) => setTimeout(r, 1));
    waiting.disconnect();
    expect([await early, waiting.status]).to.deep.equal(["Connection is closed.", "end"]);
    const redis = connect([await sentinel(null)], { sentinelRetryStrategy: () => 60_000 });
    const queued = redis.get("a").catch((error: Error) => error.message);
    await new Promise((resolve) => redis.once("sentinelError", resolve));
    redis.disconnect();
    expect(await queued).to.equal("Connection is closed.");
    expect(redis.status).to.equal("end");
  });

  // --- replicas -----------------------------------------------------------------------------

  const entry = (server: FakeServer, flags = "slave"): FakeReply => [
    "name",
    `${server.host}:${server.port}`,
    "ip",
    server.host,
    "port",
    String(server.port),
    "runid",
    "abc",
    "flags",
    flags,
  ];

  function sentinelOf(replicas: FakeReply[]): Promise<FakeServer> {
    return fake((words) => (words[0] === "sentinel" && words[1] === "slaves" ? replicas : undefined));
  }

  it("takes a replica that is reachable", async () => {
    const [down, odown, lost, good] = [
      await node("slave"),
      await node("slave"),
      await node("slave"),
      await node("slave"),
    ];
    const first = await sentinelOf([
      entry(down, "slave,s_down"),
      entry(odown, "slave,o_down"),
      entry(lost, "slave,disconnected"),
      entry(good),
    ]);
    const redis = connect([first], { role: "slave" });
    await redis.get("a");
    expect(good.connectionCount).to.equal(1);
    expect(first.received.map((words) => words[1])).not.to.include("sentinels");
  });

  it("prefers replicas by function, object and list", async () => {
    const [one, two] = [await node("slave"), await node("slave")];
    const first = await sentinelOf([entry(one), entry(two)]);
    const port = (server: FakeServer): string => String(server.port);
    let given: unknown;
    const byFunction = connect([first], {
      role: "slave",
      preferredSlaves: (replicas) => {
        given = replicas[0];
        return replicas.find((replica) => replica.port === port(two)) ?? null;
      },
    });
    await byFunction.get("a");
    expect(given).to.deep.equal({
      name: `${one.host}:${one.port}`,
      ip: one.host,
      port: port(one),
      runid: "abc",
      flags: "slave",
    });
    expect([one.connectionCount, two.connectionCount]).to.deep.equal([0, 1]);
    await connect([first], { role: "slave", preferredSlaves: { ip: two.host, port: port(two) } }).get("a");
    await connect([first], {
      role: "slave",
      preferredSlaves: [
        { ip: one.host, port: port(one), prio: 2 },
        { ip: two.host, port: port(two), prio: 0 },
        { ip: "10.0.0.1", port: "1", prio: 0 },
      ],
    }).get("a");
    expect([one.connectionCount, two.connectionCount]).to.deep.equal([0, 3]);
    await connect([first], { role: "slave", preferredSlaves: [{ ip: "10.0.0.1", port: "1" }] }).get("a");
    expect(one.connectionCount + two.connectionCount).to.equal(4);
  });

  it("no usable replica is an invalid reply", async () => {
    const redis = connect([await sentinelOf([])], {
      role: "slave",
      sentinelRetryStrategy: null,
      lazyConnect: true,
    });
    const seen = record(redis, "sentinelError");
    await redis.connect().catch(() => {});
    expect(seen[0]).to.match(/got an invalid reply: null$/);
  });

  it("a server of the wrong role is left, and the next sentinel asked", async () => {
    const stale = await node("slave");
    const master = await node("master");
    const [wrong, right] = [await sentinel(stale), await sentinel(master)];
    const redis = connect([wrong, right]);
    const seen = record(redis, "connecting", "connect", "ready", "close", "reconnecting", "error");
    expect(await redis.get("a")).to.equal("v");
    expect(seen).to.deep.equal([
      "connecting",
      "connect",
      "close",
      "reconnecting",
      "connecting",
      "connect",
      "ready",
    ]);
    expect(stale.received.some(([word]) => word === "get")).to.equal(false);
  });

  it("without the ready check the role is not looked at", async () => {
    const stale = await node("slave");
    const redis = connect([await sentinel(stale)], { enableReadyCheck: false });
    expect(await redis.get("a")).to.equal("v");
  });

  // --- sentinels and addresses --------------------------------------------------------------

  it("learns further sentinels, but for disconnected ones, unless told not to", async () => {
    const master = await node();
    const later = await sentinel(master);
    const lost = await sentinel(master);
    const others: FakeReply[] = [entry(later, "sentinel"), entry(lost, "sentinel,disconnected")];
    for (const updateSentinels of [true, false]) {
      const first = await sentinel(master, others);
      const redis = connect([first], { updateSentinels, failoverDetector: false });
      await untilReady(redis);
      const before = asked(later);
      await first.stop();
      const closed = new Promise((resolve) => redis.once("close", resolve));
      master.dropConnections();
      await closed;
      if (updateSentinels) await untilReady(redis);
      else await new Promise((resolve) => redis.once("sentinelError", resolve));
      expect(asked(later) - before).to.equal(updateSentinels ? 1 : 0);
      expect(asked(lost)).to.equal(0);
      // It would ask again when the master drops the connections of the next one.
      redis.disconnect();
    }
  });

  it("translates addresses by table and by function", async () => {
    const master = await node();
    const hidden = await fake((words) =>
      words[0] === "sentinel" ? (words[1] === "sentinels" ? [] : ["10.1.1.1", "7000"]) : undefined,
    );
    const target = { host: master.host, port: master.port };
    await connect([hidden], { natMap: { "10.1.1.1:7000": target } }).get("a");
    const keys: string[] = [];
    await connect([hidden], {
      natMap: (key: string) => {
        keys.push(key);
        return key === "10.1.1.1:7000" ? target : null;
      },
    }).get("a");
    expect(master.connectionCount).to.equal(2);
    expect(keys).to.deep.equal(["10.1.1.1:7000"]);
  });

  it("trusts no sentinel: absurd ports, hosts and lists do no harm", async () => {
    const master = await node();
    const answers: FakeReply[] = [
      ["", "1"],
      ["h", "0"],
      ["h", "70000"],
      ["h", "-5"],
      ["h", "x"],
      [],
      "text",
      5,
      [null, null],
    ];
    const odd = await Promise.all(
      answers.map((answer) =>
        fake((words) => {
          if (words[0] !== "sentinel") return undefined;
          return words[1] === "sentinels"
            ? [
                5,
                "x",
                ["ip"],
                ["ip", "h", "port", "99999"],
                ...Array(1000).fill(["ip", "__proto__", "port", "1"]),
              ]
            : answer;
        }),
      ),
    );
    const redis = connect([...odd, await sentinel(master)]);
    const seen = record(redis, "sentinelError");
    expect(await redis.get("a")).to.equal("v");
    expect(seen).to.have.length(answers.length);
  });

  // --- failover detector --------------------------------------------------------------------

  it("the detector leaves the old master once, as soon as a sentinel announces another", async () => {
    const [old, young] = [await node(), await node()];
    let master = old;
    const all = await Promise.all(
      [1, 2, 3].map(() =>
        fake((words) => {
          if (words[0] === "subscribe") return ["subscribe", words[1] ?? "", 1];
          if (words[0] !== "sentinel") return undefined;
          return words[1] === "sentinels" ? [] : [master.host, String(master.port)];
        }),
      ),
    );
    const redis = connect(all, { failoverDetector: true, sentinelMaxConnections: 2 });
    const seen = record(redis, "failoverSubscribed", "close", "ready");
    await new Promise((resolve) => redis.once("failoverSubscribed", resolve));
    await untilReady(redis);
    expect(all.filter((one) => one.openConnections > 0)).to.have.length(2);
    for (const one of all) one.broadcast(["message", "+switch-master", "other 1 2 3 4"]);
    master = young;
    for (const one of all) one.broadcast(["message", "+switch-master", "group 1 2 3 4"]);
    await new Promise((resolve) => redis.once("failoverSubscribed", resolve));
    await untilReady(redis);
    expect(young.connectionCount).to.equal(1);
    expect(old.connectionCount).to.equal(1);
    expect(seen.filter((word) => word === "close")).to.have.length(1);
    const ended = new Promise((resolve) => redis.once("end", resolve));
    await redis.quit();
    await ended;
    await waitUntil(async () => all.every((one) => one.openConnections === 0), {
      timeoutMs: 5000,
      what: "the connections to the sentinels to close",
    });
  });

  it("the promotion is news already, the end of the failover is none to who has followed it", async () => {
    const [old, young] = [await node(), await node()];
    let master = old;
    const leader = await fake((words) => {
      if (words[0] === "subscribe") return ["subscribe", words[1] ?? "", 1];
      if (words[0] !== "sentinel") return undefined;
      return words[1] === "sentinels" ? [] : [master.host, String(master.port)];
    });
    // Knows nothing of the failover before the leader has told it.
    const laggard = await sentinel(old);
    const redis = connect([leader, laggard]);
    const seen = record(redis, "close");
    const untilListening = () => new Promise((resolve) => redis.once("failoverSubscribed", resolve));
    await Promise.all([untilListening(), untilReady(redis)]);
    master = young;
    const group = `group ${old.host} ${old.port}`;
    const replica = `slave x ${young.host} ${young.port}`;
    leader.broadcast(["message", "+promoted-slave", `${replica} @ other ${old.host} ${old.port}`]);
    leader.broadcast(["message", "+promoted-slave", `${replica} @ ${group}`]);
    await Promise.all([untilListening(), new Promise((resolve) => redis.once("ready", resolve))]);
    expect((redis.stream as Socket).remotePort).to.equal(young.port);
    leader.broadcast(["message", "+switch-master", `${group} ${young.host} ${young.port}`]);
    expect(await redis.get("a")).to.equal("v");
    await redis.ping();
    expect(seen).to.deep.equal(["close"]);
    expect([old.connectionCount, young.connectionCount, asked(laggard)]).to.deep.equal([1, 1, 0]);
  });

  it("a failover that was announced just before the client listened is noticed", async () => {
    const [old, young] = [await node(), await node()];
    let master = old;
    const one = await fake((words) => {
      if (words[0] === "subscribe") {
        master = young;
        return ["subscribe", words[1] ?? "", 1];
      }
      if (words[0] !== "sentinel") return undefined;
      return words[1] === "sentinels" ? [] : [master.host, String(master.port)];
    });
    const redis = connect([one]);
    await new Promise((resolve) => redis.once("close", resolve));
    await untilReady(redis);
    expect((redis.stream as Socket).remotePort).to.equal(young.port);
    expect([old.connectionCount, young.connectionCount]).to.deep.equal([1, 1]);
  });

  it("a lost detector connection is renewed and says so", async () => {
    const master = await node();
    const first = await fake((words) => {
      if (words[0] === "subscribe") return ["subscribe", words[1] ?? "", 1];
      if (words[0] !== "sentinel") return undefined;
      return words[1] === "sentinels" ? [] : [master.host, String(master.port)];
    });
    const redis = connect([first], { failoverDetector: true, sentinelReconnectStrategy: () => 1 });
    await new Promise((resolve) => redis.once("failoverSubscribed", resolve));
    const heard = new Promise((resolve) => redis.once("sentinelReconnecting", resolve));
    first.dropConnections();
    await heard;
  });

  // --- extension points ---------------------------------------------------------------------

  it("SentinelIterator", () => {
    const list = new SentinelIterator([
      { host: "a", port: 1 },
      { host: "b", port: 2 },
    ]);
    expect(list.next()).to.deep.equal({ done: false, value: { host: "a", port: 1 } });
    expect(list.add({ host: "a", port: 1 })).to.equal(false);
    expect(list.add({ host: "c", port: 3 })).to.equal(true);
    expect(list.next().value).to.deep.equal({ host: "b", port: 2 });
    list.reset(true);
    expect([list.next().value?.host, list.next().value?.host, list.next().value?.host]).to.deep.equal([
      "b",
      "c",
      "a",
    ]);
    expect(list.next().done).to.equal(true);
    list.reset(false);
    expect(list.next().value?.host).to.equal("b");
  });

  it("a SentinelConnector of the user", async () => {
    const master = await node();
    const first = await sentinel(master);
    let checks = 0;
    class Mine extends SentinelConnector {
      override check(info: { role?: string }): boolean {
        checks++;
        return super.check(info);
      }
    }
    const redis = connect([first], { Connector: Mine });
    await redis.get("a");
    expect(redis.connector).to.be.instanceOf(Mine);
    expect(checks).to.equal(1);
  });
});
