/** Several databases: they are killed, half-open, slow, and come back, under load with books. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { expect } from "chai";
import { Certificates } from "../../scripts/servers/certificates";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { supportsTls } from "../../scripts/servers/server-binary";
import { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import { OptionError } from "../../src/errors";
import { AbstractConnector, Cluster, Failover, type FailoverReport, Redis } from "../../src/index";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient } from "../support/matrix";
import { ReplicaFixture, readersOf } from "../support/replica-fixture";
import { serverKinds, startServer } from "../support/shared-servers";

const FAILBACK_MS = 600;
/** The time in which the client must serve again after a database is lost, and what a busy machine adds. */
const SERVED_WITHIN_MS = 2000 + 3000;
const CALLERS = 10;

/** Increments without a pause; counts how each call has ended. */
class Books {
  acknowledged = 0;
  issued = 0;
  settled = 0;
  readonly failures: Error[] = [];
  private isOpen = true;
  private readonly callers: Promise<void>[];

  constructor(private readonly redis: Redis) {
    this.callers = Array.from({ length: CALLERS }, () => this.run());
  }

  async close(): Promise<void> {
    this.isOpen = false;
    await Promise.all(this.callers);
  }

  private async run(): Promise<void> {
    while (this.isOpen) {
      this.issued++;
      await this.redis.incr("count").then(
        () => this.acknowledged++,
        (error: Error) => this.failures.push(error),
      );
      this.settled++;
      await sleep(1);
    }
  }
}

for (const kind of serverKinds().filter((kind) => kind !== ServerKind.Test)) {
  describe(`several databases on ${kind}`, function () {
    this.timeout(60_000);
    let servers: ServerProcess[];
    let proxies: FaultProxy[];
    const clients: Redis[] = [];
    const opened: Books[] = [];

    before(async () => {
      servers = await Promise.all([1, 2].map(() => startServer(kind)));
    });
    after(() => Promise.all(servers.map((server) => server.stop())));
    beforeEach(async () => {
      await Promise.all(servers.map((server) => server.command("FLUSHALL")));
      proxies = await Promise.all(servers.map(({ host, port }) => FaultProxy.start({ host, port })));
    });
    afterEach(async () => {
      for (const books of opened.splice(0)) void books.close();
      await Promise.all(clients.splice(0).map(closeClient));
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      // A probe may be in its handshake when its client is closed.
      await sleep(50);
    });

    const untilClosed = (): Promise<void> =>
      waitUntil(async () => proxies.every(({ openConnections }) => openConnections === 0), {
        timeoutMs: 5000,
        what: "closed connections",
      });

    function open(options: ConstructorParameters<typeof Failover>[1] = {}): Redis {
      const [first, second] = proxies as [FaultProxy, FaultProxy];
      const redis = new Failover(
        [
          { url: first.url, weight: 2 },
          { url: second.url, weight: 1 },
        ],
        { failback: FAILBACK_MS, maxRetriesPerRequest: null, ...options },
      );
      redis.on("error", () => {});
      clients.push(redis);
      return redis;
    }

    const countAt = async (index: number): Promise<number> =>
      Number((await servers[index]?.command("GET", "count")) ?? 0);

    const LOSSES: Readonly<Record<string, (proxy: FaultProxy) => void>> = {
      killed: (proxy) => {
        proxy.refuse();
        proxy.cutAll();
      },
      "half-open": (proxy) => proxy.fallSilent(),
      slow: (proxy) => proxy.delay(3000),
    };

    for (const [name, lose] of Object.entries(LOSSES)) {
      it(`a ${name} database is left, and the client returns to it`, async () => {
        const redis = open();
        const [first, second] = proxies as [FaultProxy, FaultProxy];
        await redis.set("place", "first");
        const reports: FailoverReport[] = [];
        redis.on("failover", (report) => reports.push(report));
        const told: unknown[] = [];
        const tell = (message: unknown): void => void told.push(message);
        subscribe("sluice:failover", tell);
        const places = [first, second].map(({ port }) => `127.0.0.1:${port}`) as [string, string];
        const rows = (active: 0 | 1, state: string): object => ({
          active: places[active],
          databases: {
            [places[0]]: { isActive: active === 0, weight: 2, state },
            [places[1]]: { isActive: active === 1, weight: 1, state: "good" },
          },
        });
        const books = new Books(redis);
        opened.push(books);
        await sleep(300);
        expect(redis.stats().failover).to.deep.equal({ ...rows(0, "good"), switches: 0 });
        const lostAtMs = performance.now();
        lose(first);
        await waitUntil(async () => (await countAt(1)) > 0, {
          timeoutMs: 20_000,
          what: "the other database",
        });
        expect(performance.now() - lostAtMs).to.be.below(SERVED_WITHIN_MS);
        expect(await redis.get("place")).to.equal(null);
        expect(redis.stats().failover).to.deep.equal({ ...rows(1, "lost"), switches: 1 });
        first.heal();
        await waitUntil(async () => reports.length === 2 && (await redis.get("place")) === "first", {
          timeoutMs: 20_000,
          what: "the return",
        });
        await books.close();
        expect(books.settled).to.equal(books.issued);
        expect(books.failures.map(({ message }) => message)).to.deep.equal([]);
        unsubscribe("sluice:failover", tell);
        expect(told).to.deep.equal(reports);
        expect(redis.stats().failover).to.deep.equal({ ...rows(0, "good"), switches: 2 });
        expect(reports[0]).to.include({ from: places[0], to: places[1] });
        expect(reports[0]?.error).to.include({ code: "DATABASE_LOST", server: places[0] });
        expect(reports[1]).to.deep.equal({ from: places[1], to: places[0], error: null });
        // Each acknowledged increment has run; those in flight at the loss may have run twice.
        expect((await countAt(0)) + (await countAt(1))).to.be.at.least(books.acknowledged);
      });
    }

    it("the return rejects no command and runs none twice", async () => {
      const redis = open({ retryPolicy: "at-most-once" });
      const [first] = proxies as [FaultProxy];
      await redis.set("place", "first");
      first.refuse();
      first.cutAll();
      await waitUntil(async () => (await redis.get("place").catch(() => "")) === null, {
        timeoutMs: 20_000,
        what: "the other database",
      });
      const books = new Books(redis);
      opened.push(books);
      const subscriber = open();
      const heard: string[] = [];
      subscriber.on("message", (_channel, text) => heard.push(text));
      await subscriber.subscribe("news");
      first.heal();
      const returned = once(redis, "failover");
      await returned;
      await waitUntil(async () => (await redis.get("place")) === "first", {
        timeoutMs: 20_000,
        what: "the return",
      });
      await books.close();
      expect(books.failures).to.deep.equal([]);
      expect((await countAt(0)) + (await countAt(1))).to.equal(books.acknowledged);
      await waitUntil(async () => Number(await servers[0]?.command("PUBLISH", "news", "hello")) > 0, {
        timeoutMs: 20_000,
        what: "the subscriber at the first database",
      });
      await waitUntil(async () => heard.length > 0, { timeoutMs: 5000, what: "the message" });
    });

    it("starts at the other database if the preferred one is unreachable", async () => {
      (proxies[0] as FaultProxy).refuse();
      const redis = open();
      expect(await redis.set("place", "second")).to.equal("OK");
      expect(await servers[1]?.command("GET", "place")).to.equal("second");
    });

    it("a database is unknown, not failing, while its first connection is opened", async () => {
      const [first, second] = proxies as [FaultProxy, FaultProxy];
      // Longer than the time between two probes.
      for (const proxy of [first, second]) proxy.delay(100);
      const redis = open({ probe: { intervalMs: 20, timeoutMs: 10_000 } });
      const seen = new Set<string>();
      const statesOf = (): string[] =>
        Object.values(redis.stats().failover?.databases ?? {}).map(({ state }) => state);
      await waitUntil(
        async () => {
          for (const state of statesOf()) seen.add(state);
          return statesOf().every((state) => state === "good");
        },
        { timeoutMs: 10_000, what: "good databases" },
      );
      expect([...seen]).to.deep.equal(["unknown", "good"]);
    });

    it("commands in flight follow the retry policy", async () => {
      const redis = open({ retryPolicy: "at-most-once" });
      const [first] = proxies as [FaultProxy];
      await redis.ping();
      first.fallSilent();
      const call = redis.incr("count").catch((error: Error) => error);
      expect(await call).to.include({ code: "OUTCOME_UNKNOWN" });
      expect(await redis.incr("count")).to.equal(1);
      expect(await countAt(1)).to.equal(1);
    });

    it("a dead connection to a good database is replaced", async () => {
      // The connection of the probes is dead too: it is replaced before five of them have failed, on a busy machine as well.
      const redis = open({ probe: { intervalMs: 400 } });
      const [first] = proxies as [FaultProxy];
      await redis.set("place", "first");
      first.isolate();
      const lostAtMs = performance.now();
      expect(await redis.get("place")).to.equal("first");
      expect(performance.now() - lostAtMs).to.be.below(SERVED_WITHIN_MS);
    });

    it("clients of one option share its probes, and none outlives them", async () => {
      const redis = open();
      const [first] = proxies as [FaultProxy];
      const copy = redis.duplicate();
      copy.on("error", () => {});
      clients.push(copy);
      await Promise.all([redis.ping(), copy.ping(), redis.withConnection((own) => own.ping())]);
      await waitUntil(async () => first.openConnections === 4, { timeoutMs: 5000, what: "one probe" });
      await Promise.all(clients.splice(0).map(closeClient));
      await untilClosed();
    });

    it("probes of clients that are opened again begin anew, and end", async () => {
      const redis = open();
      const [first] = proxies as [FaultProxy];
      await redis.ping();
      first.refuse();
      first.cutAll();
      await new Promise((resolve) => redis.once("failover", resolve));
      first.heal();
      const copy = redis.duplicate();
      copy.on("error", () => {});
      clients.push(copy);
      await Promise.all(clients.map(closeClient));
      const again = redis.duplicate();
      again.on("error", () => {});
      clients.splice(0, 2, again);
      const isBack = async (): Promise<boolean> => {
        await again.set("place", "again");
        return (await servers[0]?.command("GET", "place")) === "again";
      };
      await waitUntil(isBack, { timeoutMs: 20_000, what: "the return" });
      await Promise.all(clients.splice(0).map(closeClient));
      await untilClosed();
      await sleep(500);
      expect(proxies.map(({ openConnections }) => openConnections)).to.deep.equal([0, 0]);
    });

    it("a check that throws or never ends is a failed probe", async () => {
      const redis = open({
        probe: {
          check: async (client) => {
            const how = await client.call("GET", "how");
            if (how === "throws") throw new Error("broken");
            if (how === "hangs") await new Promise(() => {});
          },
        },
      });
      for (const how of ["throws", "hangs"]) {
        const [first, second] = servers as [ServerProcess, ServerProcess];
        const left = redis.options.port === proxies[0]?.port ? first : second;
        const port = redis.options.port;
        await redis.ping();
        await left.command("SET", "how", how);
        await waitUntil(async () => redis.options.port !== port, {
          timeoutMs: 20_000,
          what: "the other database",
        });
        expect(await redis.ping()).to.equal("PONG");
        await left.command("DEL", "how");
      }
    });

    it("works with the other options of a client", async () => {
      const [first, second] = proxies as [FaultProxy, FaultProxy];
      for (const [index, place] of ["first", "second"].entries()) {
        await servers[index]?.command("MSET", "place", place, "p:place", place);
        await servers[index]?.command("COPY", "place", "place", "DB", 1);
      }
      const opened = [
        { cache: true },
        { enableAutoPipelining: true },
        { keyPrefix: "p:" },
        { lazyConnect: true },
        { connectTimeout: 500 },
        { protocol: 2 as const },
        { db: 1 },
        { bounds: { maxCommands: 10 } },
        { blockingConnections: 1 },
        { commandTimeout: 10_000 },
        { retryPolicy: "at-most-once" as const },
        { maintenance: false as const },
      ].map((options) => ({ options: JSON.stringify(options), redis: open(options) }));
      const untilAllAt = (place: string): Promise<unknown> =>
        Promise.all(
          opened.map(({ options, redis }) =>
            waitUntil(async () => (await redis.get("place").catch(() => null)) === place, {
              timeoutMs: 10_000,
              what: `the ${place} database with ${options}`,
            }),
          ),
        );
      await untilAllAt("first");
      LOSSES["killed"]?.(first);
      await untilAllAt("second");
      first.heal();
      await untilAllAt("first");
      expect(second.openConnections).to.be.at.least(opened.length);
    });

    it("a probe of one's own decides", async () => {
      const redis = open({
        probe: {
          check: async (client) => {
            if ((await client.call("GET", "broken")) !== null) throw new Error("broken");
          },
        },
      });
      await redis.set("place", "first");
      await servers[0]?.command("SET", "broken", "1");
      await waitUntil(async () => (await redis.get("place")) === null, {
        timeoutMs: 20_000,
        what: "the other database",
      });
    });
  });
}

const withReplicas = serverKinds().find((kind) => kind !== ServerKind.Test);
if (withReplicas !== undefined) {
  describe("several databases with replicas", function () {
    this.timeout(60_000);
    const fixtures = [1, 2].map(() => new ReplicaFixture(withReplicas, 1).install()) as [
      ReplicaFixture,
      ReplicaFixture,
    ];

    it("read from the replicas of the active one", async () => {
      const [first, second] = fixtures;
      const [line, other] = await Promise.all([
        FaultProxy.start(first.primary),
        FaultProxy.start(second.primary),
      ]);
      const redis = new Failover([{ url: line.url, weight: 2 }, other.url], {
        replicas: true,
        readYourWrites: 0,
        failback: FAILBACK_MS,
        maxRetriesPerRequest: null,
      });
      redis.on("error", () => {});
      try {
        const expectReads = async ({ replicas: [replica] }: ReplicaFixture, place: string): Promise<void> => {
          const wanted = `127.0.0.1:${replica?.server.port}`;
          await waitUntil(async () => readersOf(redis).join() === wanted, {
            timeoutMs: 10_000,
            what: `reads from the replica of the ${place} database`,
          });
          expect(await redis.get("place")).to.equal(place);
        };
        for (const [fixture, place] of [
          [first, "first"],
          [second, "second"],
        ] as const) {
          await fixture.primary.command("SET", "place", place);
          for (const replica of fixture.replicas) await fixture.untilSynced(replica);
        }
        expect(await first.calls("get", () => expectReads(first, "first"))).to.deep.equal([0, 1]);
        line.refuse();
        line.cutAll();
        expect(await second.calls("get", () => expectReads(second, "second"))).to.deep.equal([0, 1]);
        line.heal();
        await expectReads(first, "first");
      } finally {
        await closeClient(redis);
        await Promise.all([line.stop(), other.stop()]);
      }
    });
  });
}

describe("several databases with TLS", function () {
  this.timeout(60_000);

  it("are probed and used with their own certificates, or those of the client", async function () {
    const binary = await findServer(ServerKind.Redis);
    if (!(await supportsTls(binary.path))) {
      console.log("      skipped: this server was built without TLS");
      this.skip();
    }
    // Different authorities, so settings of the wrong database are refused.
    const authorities = [1, 2].map(() => new Certificates(["redis.example.org"]));
    const servers = await Promise.all(authorities.map((tls) => ServerProcess.start({ binary, tls })));
    const lines = (await Promise.all(servers.map((server) => FaultProxy.start(server)))) as [
      FaultProxy,
      FaultProxy,
    ];
    const [own, shared] = authorities.map((authority) => authority.clientOptions());
    const [line, other] = lines;
    const secure = ({ url }: FaultProxy): string => url.replace("redis:", "rediss:");
    const redis = new Failover([{ url: secure(line), weight: 2, tls: own }, secure(other)], {
      tls: shared,
      failback: FAILBACK_MS,
      maxRetriesPerRequest: null,
    });
    redis.on("error", () => {});
    try {
      const untilAt = (place: string): Promise<void> =>
        waitUntil(async () => (await redis.get("place")) === place, {
          timeoutMs: 20_000,
          what: `the ${place} database`,
        });
      for (const [index, place] of ["first", "second"].entries())
        await servers[index]?.command("SET", "place", place);
      await untilAt("first");
      line.refuse();
      line.cutAll();
      await untilAt("second");
      expect((redis.stream as unknown as { encrypted: boolean }).encrypted).to.equal(true);
      line.heal();
      await untilAt("first");
      expect(redis.stats().failover).to.include({ switches: 2 });
    } finally {
      await closeClient(redis);
      await Promise.all(lines.map((proxy) => proxy.stop()));
      await Promise.all(servers.map((server) => server.stop()));
    }
  });
});

describe("the option failover", () => {
  it("shows no password", () => {
    const redis = new Failover(
      [{ url: "redis://ann:hidden1@a", weight: 2 }, { host: "b", password: "hidden2" }, "redis://:hidden3@c"],
      { lazyConnect: true },
    );
    for (const shown of [redis, redis.options, redis.connector])
      expect(inspect(shown, { depth: 9 })).not.to.match(/hidden/);
    redis.disconnect();
  });

  const make =
    (failover: object, options: object = {}) =>
    () =>
      new Redis({ lazyConnect: true, ...options, failover: failover as never }).disconnect();

  it("is checked", () => {
    for (const wrong of [
      {},
      { databases: [] },
      { databases: ["redis://a"], probes: {} },
      { databases: [{ url: "redis://a", weights: 1 }] },
      { databases: [{ weight: 1 }] },
      { databases: ["/tmp/redis.sock"] },
      { databases: ["redis://a/1", "redis://b/2"] },
      { databases: ["redis://a"], probe: { intervalMs: 0 } },
      { databases: ["redis://a"], failback: -1 },
      { databases: ["redis://a"], probe: { check: 1 } },
      { databases: [{ host: "a", credentials: "b" }] },
    ]) {
      expect(make(wrong), JSON.stringify(wrong)).to.throw(OptionError);
    }
    expect(make({ databases: ["redis://a/1"] }, { db: 2 })).to.throw(OptionError, "contradicts");
    // A value that only the clients of the probes would find.
    expect(make({ databases: [{ host: "a", tls: "RedisCloudFixed" }] })).to.throw(OptionError, "tls");
  });

  for (const [name, others, advice] of [
    ["sentinels", { sentinels: [{}], name: "a" }, "use sentinels alone"],
    ["path", { path: "/tmp/a" }, "host of each database"],
    ["Connector", { Connector: AbstractConnector }, "address of each database"],
    ["a list of replicas", { replicas: ["b"] }, "replicas: true"],
    ["a host of replicas", { replicas: "b" }, "replicas: true"],
  ] as const) {
    it(`does not allow ${name}, and says what to do`, () => {
      expect(make({ databases: ["redis://a"] }, others)).to.throw(OptionError, advice);
    });
  }

  it("has databases of one server each", () => {
    for (const other of [
      { sentinels: [{ host: "s" }], name: "main" },
      { nodes: ["redis://a"] },
      { path: "/tmp/a" },
      { host: "a", replicas: ["b"] },
    ])
      expect(make({ databases: ["redis://a", other] }), JSON.stringify(other)).to.throw(
        OptionError,
        "the address of one server",
      );
  });

  it("takes no address beside those of the databases", () => {
    for (const [name, value] of [
      ["host", "b"],
      ["port", 7000],
    ] as const) {
      const options = { lazyConnect: true, [name]: value };
      expect(() => new Failover(["redis://a"], options)).to.throw(OptionError, `${name} of each database`);
    }
  });

  it("does not belong to the nodes of a cluster", () => {
    for (const [redisOptions, advice] of [
      [{ failover: { databases: ["redis://a"] } }, "its own failover"],
      [{ replicas: true }, "scaleReads"],
    ] as const)
      expect(
        () => new Cluster(["redis://a"], { lazyConnect: true, redisOptions: redisOptions as object }),
      ).to.throw(OptionError, advice);
  });

  it("belongs to the program, which may pass it to clients with other logins", () => {
    const failover = { databases: ["redis://a"] };
    const copy = structuredClone(failover);
    const clients = ["ann", "bob"].map((username) => new Redis({ lazyConnect: true, username, failover }));
    expect(clients.map(({ options }) => options.username)).to.deep.equal(["ann", "bob"]);
    expect(failover).to.deep.equal(copy);
    for (const redis of clients) redis.disconnect();
  });

  it("takes the address family of the database, else of the client", () => {
    for (const [database, family] of [
      ["redis://a?family=6", 6],
      [{ host: "a", family: 4 }, 4],
      ["redis://a", 0],
    ] as const) {
      const redis = new Failover([database], { lazyConnect: true });
      expect(redis.options.family).to.equal(family);
      redis.disconnect();
    }
  });

  it("login, TLS and database number come from the URL of the database, else from the client", () => {
    const redis = new Failover([{ url: "rediss://ann:secret@a:7000/3", weight: 2 }, "redis://b/3"], {
      lazyConnect: true,
      username: "bob",
    });
    expect(redis.options).to.include({ host: "a", port: 7000, username: "ann", password: "secret", db: 3 });
    expect(redis.options.tls).to.equal(true);
    redis.disconnect();
  });
});
