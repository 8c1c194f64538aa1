/**
 * Planned moves of a scripted managed server under load: no call rejects, and no command runs twice. The counters of
 * the server are compared with the number of answered calls.
 */

import dns from "node:dns";
import { readFileSync } from "node:fs";
import { connect as connectTcp, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { expect } from "chai";
import { Certificates } from "../../scripts/servers/certificates";
import { freePort } from "../../scripts/servers/free-port";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Cluster, Failover, Redis } from "../../src/index";
import { type Endpoint, ManagedServer } from "../support/managed-server";
import { closeClient, untilReady } from "../support/matrix";

const CALLERS = 50;
const LONG = process.env.SLUICE_LONG === "1";
const MOVES = LONG ? 200 : 10;

const until = (what: string, condition: () => boolean): Promise<void> =>
  waitUntil(async () => condition(), { timeoutMs: 10_000, what });
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("planned moves", function () {
  this.timeout(LONG ? 300_000 : 30_000);
  let server: ManagedServer;
  let first: Endpoint;
  let second: Endpoint;
  let errors: string[];
  let statuses: string[];
  const clients: Redis[] = [];

  beforeEach(async () => {
    server = await ManagedServer.start(2);
    [first, second] = server.endpoints as [Endpoint, Endpoint];
    errors = [];
    statuses = [];
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeClient));
    await server.stop();
  });

  function connect(options: RedisOptions = {}): Redis {
    const redis = new Redis({
      host: "127.0.0.1",
      port: first.port,
      maintenance: "on",
      enableReadyCheck: false,
      ...options,
    });
    redis.on("error", (error: Error) => errors.push(error.message));
    for (const status of ["close", "reconnecting"]) redis.on(status, () => statuses.push(status));
    clients.push(redis);
    return redis;
  }

  const portOf = (redis: Redis): number | undefined => redis.stream?.remotePort;
  const untilAt = (redis: Redis, { port }: Endpoint): Promise<void> =>
    until("the change to the new server", () => portOf(redis) === port);
  const untilLeft = (endpoint: Endpoint): Promise<void> =>
    until("the end of the old connection", () => endpoint.peers.length === 0);

  /** Callers that count without a pause. `stop` compares their calls with what has run. */
  function load(redis: Redis, key = "n") {
    let isRunning = true;
    let answered = 0;
    const caller = async (): Promise<void> => {
      while (isRunning) {
        await redis.incr(key);
        answered++;
      }
    };
    const callers = Array.from({ length: CALLERS }, caller);
    return {
      async stop(): Promise<void> {
        isRunning = false;
        await Promise.all(callers);
        expect(server.counters.get(key)).to.equal(answered);
        expect(answered).to.be.greaterThan(CALLERS);
      },
    };
  }

  /** The client has neither reported an error nor closed a connection that was in use. */
  function expectCalm(): void {
    expect([errors, statuses]).to.deep.equal([[], []]);
  }

  /** The server knows that the client wants notices. */
  async function untilListening(redis: Redis): Promise<void> {
    await untilReady(redis);
    await until("a connection that asks for notices", () => first.listeners === 1);
  }

  async function move(redis: Redis, from: Endpoint, to: Endpoint): Promise<void> {
    await until("a connection that asks for notices", () => from.listeners === 1);
    from.announce("MOVING", server.next(), 15, to.address);
    await untilAt(redis, to);
    await untilLeft(from);
  }

  it("go to the named server, again and again, and the configured address stays", async () => {
    for (const endpoint of server.endpoints) endpoint.delayMs = 2;
    const redis = connect();
    const running = load(redis);
    await untilListening(redis);
    let from = first;
    for (let round = 0; round < MOVES; round++) {
      const to = await server.add();
      to.delayMs = 2;
      await sleep(20);
      await move(redis, from, to);
      from = to;
    }
    await running.stop();
    expectCalm();
    expect([redis.options.host, redis.options.port]).to.deep.equal(["127.0.0.1", first.port]);
  });

  it("happen with the last reply of the old server", async () => {
    const redis = connect();
    await untilListening(redis);
    first.held.add("incr");
    let last = redis.incr("n");
    first.announce("MOVING", server.next(), 15, second.address);
    await until("a command that waits for the new server", () => {
      const call = redis.incr("n");
      const waits = redis.offlineQueue.length > 0;
      if (!waits) last = call;
      return waits;
    });
    first.letGo();
    await last;
    // No timer has run since the reply.
    expect(portOf(redis)).to.equal(second.port);
    await untilLeft(first);
    expectCalm();
  });

  it("without an address go to the configured one after half of the time", async () => {
    const redis = connect();
    const running = load(redis);
    await untilListening(redis);
    first.announce("MOVING", server.next(), 1, null);
    await until("a second connection", () => first.connections === 2);
    await until("the end of the first one", () => first.peers.length === 1);
    await running.stop();
    expectCalm();
  });

  it("to a dead server leave the client where it is", async () => {
    const redis = connect();
    const running = load(redis);
    await untilListening(redis);
    const failures: string[] = [];
    redis.on("maintenance", ({ state }: { state: string }) => failures.push(state));
    first.announce("MOVING", server.next(), 15, `127.0.0.1:${await freePort()}`);
    await until("two attempts", () => failures.filter((state) => state === "failed").length >= 2);
    expect(portOf(redis)).to.equal(first.port);
    // The next notice names one that lives.
    await move(redis, first, second);
    await running.stop();
    expectCalm();
  });

  it("go to an IPv6 address", async () => {
    const redis = connect();
    const running = load(redis);
    await untilListening(redis);
    const relay = createServer(relayTo(second.port));
    await new Promise<void>((resolve) => relay.listen(0, "::1", resolve));
    const { port } = relay.address() as { port: number };
    first.announce("MOVING", server.next(), 15, `[::1]:${port}`);
    await until("the change", () => portOf(redis) === port);
    await untilLeft(first);
    await running.stop();
    expectCalm();
    await closeClient(redis);
    await new Promise((resolve) => relay.close(resolve));
  });

  it("announced twice, and by the new server again, happen once", async () => {
    const redis = connect();
    const running = load(redis);
    await untilListening(redis);
    const seq = server.next();
    for (let time = 0; time < 3; time++) first.announce("MOVING", seq, 15, second.address);
    await untilAt(redis, second);
    second.announce("MOVING", seq, 15, second.address);
    await untilLeft(first);
    await running.stop();
    expect(second.connections).to.equal(1);
    expectCalm();
  });

  /** A client whose server announces a move while its BLPOP is blocked. */
  async function moveDuringBlpop(
    channels: readonly string[] = [],
  ): Promise<{ redis: Redis; popped: Promise<[string, string] | null> }> {
    const redis = connect();
    if (channels.length > 0) await redis.subscribe(...channels);
    await untilListening(redis);
    const popped = redis.blpop("list", 0);
    await until("a blocked connection", () => first.peers.some(({ blockedOn }) => blockedOn !== null));
    first.announce("MOVING", server.next(), 15, second.address);
    await untilAt(redis, second);
    return { redis, popped };
  }

  for (const channels of [[], ["news"]])
    it(`leave a BLPOP where it is, and serve ${channels[0] ?? "the other callers"} meanwhile`, async () => {
      const { redis, popped } = await moveDuringBlpop(channels);
      expect(await redis.incr("n")).to.equal(1);
      expect(first.peers.length).to.equal(1);
      await redis.rpush("list", "a");
      expect(await popped).to.deep.equal(["list", "a"]);
      await untilLeft(first);
      expectCalm();
    });

  it("send a BLPOP again that the old server has ended", async () => {
    const { popped } = await moveDuringBlpop();
    first.close();
    await until("the BLPOP on the new server", () =>
      second.peers.some(({ blockedOn }) => blockedOn !== null),
    );
    first.announce("MOVING", server.next(), 15, second.address);
    const other = connect({ port: second.port });
    await other.rpush("list", "a");
    expect(await popped).to.deep.equal(["list", "a"]);
    expectCalm();
  });

  it("wait for the end of a transaction opened by hand", async () => {
    const redis = connect();
    await untilListening(redis);
    await redis.multi({ pipeline: false });
    await redis.incr("a");
    first.announce("MOVING", server.next(), 15, second.address);
    await until("the new connection", () => second.connections === 1);
    await sleep(50);
    expect(portOf(redis)).to.equal(first.port);
    await redis.incr("a");
    expect(await redis.exec()).to.deep.equal([
      [null, 1],
      [null, 2],
    ]);
    await untilAt(redis, second);
    expect(await redis.incr("a")).to.equal(3);
    expectCalm();
  });

  it("find a gap between transactions by hand that follow one another", async () => {
    const redis = connect();
    let isRunning = true;
    let rounds = 0;
    const running = (async () => {
      while (isRunning) {
        await redis.multi({ pipeline: false });
        await redis.incr("a");
        expect(await redis.exec()).to.deep.equal([[null, ++rounds]]);
      }
    })();
    await untilListening(redis);
    await move(redis, first, second);
    isRunning = false;
    await running;
    expect(server.counters.get("a")).to.equal(rounds);
    expectCalm();
  });

  /** A client whose move waits for the end of a WATCH. */
  async function moveDuringWatch(): Promise<Redis> {
    const redis = connect();
    await untilListening(redis);
    await redis.watch("a");
    first.announce("MOVING", server.next(), 15, second.address);
    await until("the new connection", () => second.connections === 1);
    await sleep(50);
    return redis;
  }

  it("wait for the EXEC of a WATCH", async () => {
    const redis = await moveDuringWatch();
    expect(portOf(redis)).to.equal(first.port);
    expect(await redis.multi().incr("a").exec()).to.deep.equal([[null, 1]]);
    await untilAt(redis, second);
    expectCalm();
  });

  for (const [name, oldDelayMs] of [
    ["lose no message and repeat none", 0],
    ["lose no message that the old server sends later than the new one subscribes", 30],
  ] as const)
    it(name, async () => {
      const redis = connect();
      const heard: number[] = [];
      redis.on("message", (_channel: string, text: string) => heard.push(Number(text)));
      await redis.subscribe("news");
      let sent = 0;
      const timer = setInterval(() => server.publish("news", String(++sent)), 1);
      let from = first;
      for (let round = 0; round < MOVES; round++) {
        const to = await server.add();
        from.delayMs = oldDelayMs;
        await move(redis, from, to);
        from = to;
      }
      clearInterval(timer);
      await until("the last message", () => heard.includes(sent));
      expect(heard).to.deep.equal(Array.from({ length: sent }, (_, index) => index + 1));
      expectCalm();
    });

  it("to a server that refuses a subscription do not happen, and messages continue", async () => {
    const redis = connect();
    const heard: string[] = [];
    const failures: string[] = [];
    redis.on("message", (_channel: string, text: string) => heard.push(text));
    redis.on("maintenance", ({ state, error }: { state: string; error?: Error }) => {
      if (state === "failed") failures.push(String(error?.message));
    });
    await redis.subscribe("news");
    await untilListening(redis);
    second.forbidsChannels = true;
    first.announce("MOVING", server.next(), 15, second.address);
    await until("two attempts", () => failures.length === 2);
    expect(failures.join()).to.include("NOPERM");
    expect(portOf(redis)).to.equal(first.port);
    expect(server.publish("news", "1")).to.equal(1);
    await until("the message", () => heard.length === 1);
    second.forbidsChannels = false;
    await untilAt(redis, second);
    await untilLeft(first);
    server.publish("news", "2");
    await until("the next message", () => heard.length === 2);
    expectCalm();
  });

  it("do not split a pipeline that ends a WATCH within its transaction", async () => {
    const redis = await moveDuringWatch();
    const rows = await redis.pipeline([["multi"], ["unwatch"], ["incr", "a"], ["exec"]]).exec();
    expect(rows?.map(([error]) => error)).to.deep.equal([null, null, null, null]);
    const names = (endpoint: Endpoint): string[] =>
      endpoint.received.map(([name = ""]) => name.toLowerCase());
    expect(names(first).slice(-4)).to.deep.equal(["multi", "unwatch", "incr", "exec"]);
    expect(names(second)).not.to.include("exec");
    await untilAt(redis, second);
    expectCalm();
  });

  it("of a subscriber whose channels change meanwhile keep all of them", async () => {
    const redis = connect();
    const heard: string[] = [];
    redis.on("message", (channel: string) => heard.push(channel));
    await redis.subscribe("a");
    await redis.watch("key");
    first.announce("MOVING", server.next(), 15, second.address);
    await until("the new connection", () => second.peers.some(({ channels }) => channels.has("a")));
    await redis.subscribe("b");
    await redis.unwatch();
    await untilAt(redis, second);
    await untilLeft(first);
    expect([server.publish("a", "1"), server.publish("b", "1")]).to.deep.equal([1, 1]);
    await until("both messages", () => heard.length === 2);
    expectCalm();
  });

  it("of a subscriber that unsubscribes meanwhile do not bring its channel back", async () => {
    const redis = connect();
    const heard: string[] = [];
    redis.on("message", (channel: string) => heard.push(channel));
    await redis.subscribe("a", "b");
    await untilListening(redis);
    first.held.add("unsubscribe");
    second.held.add("subscribe");
    const left = redis.unsubscribe("a");
    const untilReceived = ({ received }: Endpoint, wanted: string): Promise<void> =>
      until(wanted, () => received.some(([name]) => name?.toLowerCase() === wanted));
    await untilReceived(first, "unsubscribe");
    first.announce("MOVING", server.next(), 15, second.address);
    await untilReceived(second, "subscribe");
    first.letGo();
    await left;
    // The next connection confirms a channel that the user has left.
    second.letGo();
    await untilAt(redis, second);
    await untilLeft(first);
    await until("the end of an attempt that was too early", () => second.peers.length === 1);
    expect([server.publish("a", "1"), server.publish("b", "1")]).to.deep.equal([0, 1]);
    await until("the message", () => heard.length > 0);
    expect([heard, redis.stats().subscriptions]).to.deep.equal([["b"], 1]);
    expectCalm();
  });

  it("keep a pipeline of 10,000 in order", async () => {
    const redis = connect();
    const running = load(redis);
    await untilListening(redis);
    const pipeline = redis.pipeline();
    for (let index = 0; index < 10_000; index++) pipeline.incr("p");
    const rows = pipeline.exec();
    first.announce("MOVING", server.next(), 15, second.address);
    const after = redis.incr("p");
    expect((await rows)?.map(([, value]) => value)).to.deep.equal(
      Array.from({ length: 10_000 }, (_, index) => index + 1),
    );
    expect(await after).to.equal(10_001);
    await untilAt(redis, second);
    await running.stop();
    expectCalm();
  });

  it("use TLS, with the name that the server gives", async () => {
    const certificates = new Certificates();
    const relays = [first, second].map(({ port }) => tlsRelay(certificates, port));
    const ports: number[] = [];
    for (const relay of relays) {
      await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
      ports.push((relay.address() as { port: number }).port);
    }
    const redis = connect({ host: "localhost", port: ports[0] as number, tls: certificates.clientOptions() });
    const running = load(redis);
    await untilListening(redis);
    const asked = first.received.find(([, word]) => word === "MAINT_NOTIFICATIONS");
    expect(asked?.slice(2)).to.deep.equal(["ON", "moving-endpoint-type", "internal-fqdn"]);
    first.announce("MOVING", server.next(), 15, `localhost:${ports[1]}`);
    await until("the change", () => portOf(redis) === ports[1]);
    await running.stop();
    expectCalm();
    await closeClient(redis);
    await Promise.all(relays.map((relay) => new Promise((resolve) => relay.close(resolve))));
  });

  it("are not repeated by old ends of windows, and windows outlast them", async () => {
    const redis = connect({ commandTimeout: 100 });
    await untilListening(redis);
    // Replayed to each new connection, hours later.
    first.announce("MIGRATED", 3, "1");
    first.announce("FAILED_OVER", 4, "1");
    first.announce("MIGRATING", 10, 2, "1");
    first.announce("MIGRATED", 3, "1");
    await redis.incr("n");
    first.delayMs = 400;
    // Four times the limit of the command.
    expect(await redis.incr("n")).to.equal(2);
    first.announce("MIGRATED", 11, "1");
    const error = await redis.incr("n").then(
      () => null,
      (reason: { code: string }) => reason.code,
    );
    expect(error).to.equal("COMMAND_TIMEOUT");
    first.delayMs = 0;
  });

  for (const seconds of [0, -5, 1_000_000]) {
    it(`with ${seconds} seconds happen all the same`, async () => {
      const redis = connect();
      const running = load(redis);
      await untilListening(redis);
      first.announce("MOVING", server.next(), seconds, second.address);
      await untilAt(redis, second);
      await untilLeft(first);
      await running.stop();
      expectCalm();
    });
  }

  it("do not reject commands without an offline queue", async () => {
    const redis = connect({ enableOfflineQueue: false });
    await untilListening(redis);
    const running = load(redis);
    await move(redis, first, second);
    await running.stop();
    expectCalm();
  });

  it("end with the client: commands on the old connection settle", async () => {
    const redis = connect();
    await untilListening(redis);
    const popped = redis.blpop("list", 0).then(
      () => "popped",
      (error: { code: string }) => error.code,
    );
    await until("a blocked connection", () => first.peers.some(({ blockedOn }) => blockedOn !== null));
    first.announce("MOVING", server.next(), 15, second.address);
    await untilAt(redis, second);
    await closeClient(redis);
    expect(await popped).to.be.oneOf(["OUTCOME_UNKNOWN", "CONNECTION_CLOSED"]);
  });

  it("of a server that closes early are ordinary losses", async () => {
    const redis = connect({ retryStrategy: () => 5 });
    await untilListening(redis);
    await redis.multi({ pipeline: false });
    first.announce("MOVING", server.next(), 15, second.address);
    await until("the new connection", () => second.connections === 1);
    first.close();
    await until("a new connection", () => redis.status === "ready" && first.connections === 2);
    await redis.discard().catch(() => {});
    expect(await redis.incr("n")).to.equal(1);
    await untilLeft(second);
  });

  it("are refused by servers that do not know them: an error with on, none with auto", async () => {
    first.knowsNotices = false;
    const redis = connect();
    const error = new Promise<{ code: string }>((resolve) => redis.once("error", resolve));
    expect(await redis.incr("n")).to.equal(1);
    expect(await error).to.include({ code: "MAINTENANCE_REFUSED" });
    const plain = connect({ maintenance: "auto" });
    await plain.incr("n");
    const asked = first.received.filter(([, word]) => word === "MAINT_NOTIFICATIONS");
    expect(asked).to.have.length(1);
  });

  it("of one of several databases are announced if that one is managed", async () => {
    const { lookup } = dns;
    const resolve = (_host: string, ...rest: unknown[]): void =>
      Reflect.apply(lookup, dns, ["127.0.0.1", ...rest]);
    dns.lookup = resolve as typeof lookup;
    try {
      const redis = new Failover(
        [
          { host: "127.0.0.1", port: await freePort(), weight: 2 },
          { host: "eu.redis-cloud.com", port: first.port },
        ],
        { enableReadyCheck: false },
      );
      redis.on("error", () => {});
      clients.push(redis);
      await untilReady(redis);
      // The other one is the connection of its probes.
      await until("a connection that asks for notices", () => first.listeners === 2);
    } finally {
      dns.lookup = lookup;
    }
  });

  it("of slots let a cluster ask for its table", async () => {
    const cluster = new Cluster([{ host: "127.0.0.1", port: first.port }], {
      redisOptions: { maintenance: "on", enableReadyCheck: false },
      enableReadyCheck: false,
    });
    clients.push(cluster as never);
    const kinds: (string | undefined)[] = [];
    cluster.on("maintenance", ({ notice }: { notice?: { kind: string } }) => kinds.push(notice?.kind));
    const table = (owner: Endpoint) => [[0, 16_383, ["127.0.0.1", owner.port, "id"]]] as never;
    first.table = second.table = table(first);
    expect(await cluster.incr("n")).to.equal(1);
    first.table = second.table = table(second);
    first.announce("SMIGRATING", server.next(), "0-16383");
    first.announce("SMIGRATED", server.next(), "ignored by the test");
    await until("the new owner", () => cluster.slots[0]?.[0] === second.address);
    expect(await cluster.incr("n")).to.equal(2);
    expect(second.received.some(([name]) => name === "incr")).to.equal(true);
    // The list of slots is enough: no node answers with a table.
    for (const node of server.endpoints) node.table = new Error("ERR no table") as never;
    await until("a connection that asks for notices", () => second.listeners > 0);
    second.announce("SMIGRATED", server.next(), [[second.address, first.address, "0-16383"]]);
    await until("the announced owner", () => cluster.slots[0]?.[0] === first.address);
    expect(await cluster.incr("n")).to.equal(3);
    // The other node repeats an older notice.
    await until("a connection that asks for notices", () => first.listeners > 0);
    first.announce("SMIGRATED", 2, [[first.address, second.address, "0-16383"]]);
    first.announce("MIGRATING", server.next(), 1, "1");
    await until("the later notice", () => kinds.includes("MIGRATING"));
    expect(cluster.slots[0]?.[0]).to.equal(first.address);
  });
});

/** Passes bytes between sockets. */
function relayTo(port: number) {
  return (socket: Socket): void => {
    const inner = connectTcp(port, "127.0.0.1");
    socket.pipe(inner).pipe(socket);
    const end = (): void => {
      socket.destroy();
      inner.destroy();
    };
    for (const side of [socket, inner]) side.on("error", end).on("close", end);
  };
}

function tlsRelay(certificates: Certificates, port: number) {
  const read = (name: string): Buffer => readFileSync(join(certificates.directory, name));
  return createTlsServer({ key: read("server.key"), cert: read("server.crt") }, relayTo(port));
}
