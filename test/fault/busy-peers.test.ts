/**
 * A silent connection is given up only on the server's own word about it. Whatever else the second
 * connection meets (a right that is missing, a limit, a proxy, another server) is no verdict, and
 * nothing that may be running is sent a second time.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY, status } from "../support/fake-server";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { codeOf, outcomeOf } from "../support/outcome";
import { peerReports } from "../support/peer-reports";
import { startServer } from "../support/shared-servers";
import { Throttle } from "../support/throttle";

const QUICK = { idleMs: 60, probeTimeoutMs: 2000 };
const PAUSE_MS = 600;

describe("silent connections that live", () => {
  let server: ServerProcess;
  let proxy: FaultProxy;
  let control: Redis;
  let redis: Redis;
  let reports: string[];

  before(async () => {
    server = await startServer(ServerKind.Redis, {});
  });
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    control = new Redis({ host: server.host, port: server.port, watchdog: false });
    await control.flushall();
  });
  afterEach(async () => {
    await control.config("SET", "maxclients", "10000", "requirepass", "");
    await Promise.all([redis, control].map(closeClient));
    await proxy.stop();
  });

  async function connect(options: RedisOptions = {}): Promise<void> {
    redis = new Redis({
      host: proxy.host,
      port: proxy.port,
      retryStrategy: () => 1,
      watchdog: QUICK,
      ...options,
    });
    reports = peerReports(redis);
    await untilReady(redis);
  }

  /** Writes are held back by the server, while a probe is answered at once. */
  async function expectPatience(): Promise<void> {
    await control.call("client", "pause", String(PAUSE_MS), "WRITE");
    expect(await outcomeOf(redis.incr("busy:n"), 10_000)).to.deep.equal(["fulfilled", 1]);
    expect(reports).to.deep.equal(["SERVER_BUSY"]);
    expect(await control.get("busy:n")).to.equal("1");
  }

  for (const protocol of [2, 3] as const) {
    it(`a user who may not list clients, protocol ${protocol}`, async () => {
      await control.acl("SETUSER", "limited", "on", ">pw", "~*", "&*", "+@all", "-client|list", "-info");
      await connect({ username: "limited", password: "pw", protocol, enableReadyCheck: false });
      await expectPatience();
    });

    it(`a server that takes no more clients, protocol ${protocol}`, async () => {
      await connect({ protocol });
      await control.config("SET", "maxclients", "2");
      await expectPatience();
    });

    it(`a password that was changed since, protocol ${protocol}`, async () => {
      await control.config("SET", "requirepass", "old");
      await connect({ protocol, password: "old" });
      await control.config("SET", "requirepass", "new");
      await expectPatience();
    });

    it(`an address that leads to another server now, protocol ${protocol}`, async () => {
      const other = await startServer(ServerKind.Redis, {});
      try {
        await connect({ protocol });
        proxy.retarget({ host: other.host, port: other.port });
        await expectPatience();
        expect(proxy.counters.connections).to.be.above(1);
      } finally {
        await other.stop();
      }
    });

    it(`a proxy that answers PING and the rest of the probe itself, protocol ${protocol}`, async () => {
      let runs = 0;
      const fake = await FakeServer.start(([name], { socket }) => {
        if (name === "client") return status("OK");
        if (name !== "incr") return undefined;
        runs++;
        setTimeout(() => socket.write(":1\r\n"), PAUSE_MS);
        return NO_REPLY;
      });
      try {
        await connect({ host: fake.host, port: fake.port, protocol });
        expect(await outcomeOf(redis.incr("a"), 10_000)).to.deep.equal(["fulfilled", 1]);
        expect(reports).to.deep.equal(["SERVER_BUSY"]);
        expect(runs).to.equal(1);
        expect(fake.connectionCount).to.be.above(1);
      } finally {
        await closeClient(redis);
        await fake.stop();
      }
    });
  }

  it("a large value on a slow line, for a user who may not list clients", async function () {
    this.timeout(20_000);
    await control.acl("SETUSER", "limited", "on", ">pw", "~*", "&*", "+@all", "-client|list");
    const throttle = await Throttle.start({ host: server.host, port: server.port }, 2 * 1024 * 1024);
    try {
      await connect({
        port: throttle.port,
        username: "limited",
        password: "pw",
        watchdog: { idleMs: 200, probeTimeoutMs: 500 },
      });
      const value = Buffer.alloc(10 * 1024 * 1024, "x");
      expect(await outcomeOf(redis.set("busy:large", value), 15_000)).to.deep.equal(["fulfilled", "OK"]);
      expect(reports.filter((code) => code !== "SERVER_BUSY")).to.deep.equal([]);
      expect(await control.strlen("busy:large")).to.equal(value.length);
    } finally {
      await closeClient(redis);
      await throttle.stop();
    }
  });

  it("to a host that takes no connections: left in the end, and no write is repeated", async () => {
    await connect();
    proxy.isolate(Direction.ToClient);
    proxy.refuse();
    const outcomes = Promise.all([codeOf(redis.incr("busy:n")), outcomeOf(redis.get("busy:n"), 10_000)]);
    while (!reports.includes("DEAD_CONNECTION")) await new Promise((resolve) => setTimeout(resolve, 10));
    proxy.heal();
    expect(await outcomes).to.deep.equal(["OUTCOME_UNKNOWN", ["fulfilled", "1"]]);
  });
});
