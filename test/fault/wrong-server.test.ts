/**
 * Guarantee 7, second half: after a failover the client may find itself on a server that cannot
 * serve. READONLY, MASTERDOWN and LOADING make it connect anew and try again, without any option;
 * whoever talks to a replica on purpose sees the error and keeps the connection.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FakeServer } from "../support/fake-server";
import { FaultProxy } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { outcomeOf } from "../support/outcome";
import { startServer } from "../support/shared-servers";

const ROUNDS = process.env.SLUICE_LONG === "1" ? 50 : 3;

describe("the wrong server", () => {
  const injections = countInjections("connections to the wrong server");
  let one: ServerProcess;
  let other: ServerProcess;
  let proxy: FaultProxy;
  let redis: Redis;

  before(async () => {
    const config = { "replica-serve-stale-data": "no", "repl-diskless-sync-delay": "0" };
    [one, other] = await Promise.all([
      startServer(ServerKind.Redis, { config }),
      startServer(ServerKind.Redis, { config }),
    ]);
  });
  after(() => Promise.all([one.stop(), other.stop()]));
  beforeEach(async () => {
    await replicate(one, other);
    await one.command("FLUSHALL");
    proxy = await FaultProxy.start({ host: one.host, port: one.port });
  });
  afterEach(async () => {
    await closeClient(redis);
    await proxy.stop();
  });

  /** `replica` follows `master` and has all of it. */
  async function replicate(master: ServerProcess, replica: ServerProcess): Promise<void> {
    await master.command("REPLICAOF", "NO", "ONE");
    await replica.command("REPLICAOF", master.host, master.port);
    await waitUntil(
      async () => String(await replica.command("INFO", "replication")).includes("master_link_status:up"),
      { timeoutMs: 15_000, what: "the replica follows" },
    );
  }

  async function connect(options: RedisOptions = {}): Promise<void> {
    redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 1, ...options });
    injections.add();
    redis.on("error", () => {});
    await untilReady(redis);
  }

  it("a demoted master: writes go on at the new one, each once", async function () {
    this.timeout(240_000);
    await connect();
    let [master, replica] = [one, other];
    let issued = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const calls = Array.from({ length: 50 }, () => redis.incr("wrong:n"));
      issued += calls.length;
      await Promise.all(calls);
      await waitUntil(async () => String(await replica.command("GET", "wrong:n")) === String(issued), {
        timeoutMs: 15_000,
        what: "the replica is level",
      });
      // Within a second of the last time the error would go to the caller.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      [master, replica] = [replica, master];
      await replicate(master, replica);
      proxy.retarget({ host: master.host, port: master.port });
      injections.add();
      const more = Array.from({ length: 20 }, () => redis.incr("wrong:n"));
      issued += more.length;
      const values = await Promise.all(more);
      expect(values).to.deep.equal(Array.from({ length: 20 }, (_, i) => issued - 20 + i + 1));
    }
    expect(await master.command("GET", "wrong:n")).to.equal(String(issued));
  });

  it("pipelines go on too; a transaction is left to its caller, whole", async () => {
    await connect();
    await redis.set("wrong:a", 0);
    await replicate(other, one);
    proxy.retarget({ host: other.host, port: other.port });
    const transaction = await outcomeOf(redis.multi().incr("wrong:a").incr("wrong:a").exec());
    expect(transaction[0]).to.equal("rejected");
    expect(transaction[1]).to.match(/EXECABORT|READONLY/);
    const rows = await redis.pipeline().incr("wrong:a").incr("wrong:a").exec();
    expect(rows).to.deep.equal([
      [null, 1],
      [null, 2],
    ]);
  });

  it("a replica on purpose: the error comes soon, the connection stays", async () => {
    proxy.retarget({ host: other.host, port: other.port });
    await connect();
    let connections = 0;
    redis.on("connect", () => connections++);
    for (let round = 0; round < 5; round++) {
      const outcome = await outcomeOf(redis.set("wrong:a", 1));
      expect(outcome[1]).to.match(/^REPLY: READONLY/);
    }
    expect(connections).to.equal(1);
    expect(await redis.get("wrong:a")).to.equal(null);
  });

  for (const options of [{ readOnly: true }, { role: "slave" }, { reconnectOnError: () => false }] as const) {
    it(`${Object.keys(options)[0]} leaves the decision to the caller`, async () => {
      proxy.retarget({ host: other.host, port: other.port });
      await connect(options as RedisOptions);
      let connections = 0;
      redis.on("connect", () => connections++);
      expect((await outcomeOf(redis.set("wrong:a", 1)))[1]).to.match(/^REPLY: READONLY/);
      expect(connections).to.equal(0);
    });
  }

  it("without retries the error is the answer", async () => {
    proxy.retarget({ host: other.host, port: other.port });
    await connect({ retryStrategy: null });
    expect((await outcomeOf(redis.set("wrong:a", 1)))[1]).to.match(/^REPLY: READONLY/);
    expect(await redis.get("wrong:a")).to.equal(null);
  });

  it("a replica that has lost its master", async () => {
    proxy.retarget({ host: other.host, port: other.port });
    await connect();
    await other.command("REPLICAOF", "127.0.0.1", 1);
    proxy.retarget({ host: one.host, port: one.port });
    await one.command("SET", "wrong:a", "from the master");
    expect(await redis.get("wrong:a")).to.equal("from the master");
  });

  it("a server that loads its data", async () => {
    const fake = await FakeServer.start((words, { number }) => {
      if (words[0] !== "get") return undefined;
      return number === 1 ? new Error("LOADING Redis is loading the dataset in memory") : "loaded";
    });
    await connect({ port: fake.port });
    try {
      expect(await redis.get("a")).to.equal("loaded");
      expect(fake.connectionCount).to.equal(2);
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });
});
