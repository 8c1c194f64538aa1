/**
 * Guarantee 4: transactions are whole. Whatever happens to the line, the server never runs a part
 * outside MULTI, half a transaction is never sent again, and after a lost WATCH nothing commits.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const LONG = process.env.SLUICE_LONG === "1";
const PAIR = ["whole:a", "whole:b"] as const;

type Failure = Error & { code?: string; previousErrors?: Error[] };

function failureOf(call: Promise<unknown>): Promise<Failure | null> {
  return call.then(
    () => null,
    (error: Failure) => error,
  );
}

describe("transactions are whole", () => {
  const injections = countInjections("cuts inside transactions");
  let server: ServerProcess;
  let proxy: FaultProxy;
  let redis: Redis;
  let control: Redis;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  beforeEach(async () => {
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    control = new Redis({ host: server.host, port: server.port });
    redis = new Redis({ host: proxy.host, port: proxy.port, retryStrategy: () => 1 });
    redis.on("error", () => {});
    await redis.ping();
    await control.del(...PAIR);
  });
  afterEach(async () => {
    await Promise.all([closeClient(redis), closeClient(control)]);
    await proxy.stop();
  });

  async function reconnect(): Promise<void> {
    const ready = new Promise((resolve) => redis.once("ready", resolve));
    proxy.cutAll("reset");
    await ready;
  }

  it("both counters of a transaction move together wherever the line is cut", async function () {
    this.timeout(120_000);
    for (let bytes = 1; bytes < 150; bytes += LONG ? 1 : 3) {
      for (const direction of [Direction.ToServer, Direction.ToClient]) {
        const client = new Redis({
          host: proxy.host,
          port: proxy.port,
          retryStrategy: () => 1,
          disableClientInfo: true,
          enableReadyCheck: false,
          protocol: 2,
        });
        client.on("error", () => {});
        await new Promise((resolve) => client.once("ready", resolve));
        proxy.cutAfter({ direction, bytes, style: "reset" });
        await failureOf(client.multi().incr(PAIR[0]).incr(PAIR[1]).exec() as Promise<unknown>);
        const [a, b] = await control.mget(...PAIR);
        expect(a, `cut ${direction} at ${bytes}`).to.equal(b);
        injections.add();
        proxy.heal();
        await closeClient(client);
      }
    }
  });

  it("refuses EXEC after the connection that watched was lost, and a new WATCH works again", async () => {
    await redis.watch(PAIR[0]);
    await reconnect();
    await control.set(PAIR[0], "changed unseen");
    const failure = await failureOf(redis.multi().set(PAIR[0], "mine").exec() as Promise<unknown>);
    expect(failure?.code).to.equal("WATCH_LOST");
    expect(await control.get(PAIR[0])).to.equal("changed unseen");
    await redis.watch(PAIR[0]);
    expect(await (redis.multi().set(PAIR[0], "mine").exec() as Promise<unknown>)).to.deep.equal([
      [null, "OK"],
    ]);
  });

  it("does not send a guarded transaction again without its WATCH", async () => {
    await redis.watch(PAIR[0]);
    // The transaction is written into a line that no longer leads anywhere.
    proxy.fallSilent(Direction.ToServer);
    const outcome = failureOf(redis.multi().set(PAIR[0], "mine").exec() as Promise<unknown>);
    await new Promise((resolve) => setTimeout(resolve, 30));
    await control.set(PAIR[0], "changed unseen");
    proxy.heal();
    proxy.cutAll("reset");
    expect((await outcome)?.code).to.equal("OUTCOME_UNKNOWN");
    expect(await control.get(PAIR[0])).to.equal("changed unseen");
  });

  it("a transaction opened by hand refuses EXEC after a lost WATCH", async () => {
    await redis.watch(PAIR[0]);
    await reconnect();
    await redis.multi({ pipeline: false });
    const member = redis.set(PAIR[0], "mine");
    expect((await failureOf(redis.exec()))?.code).to.equal("WATCH_LOST");
    expect(await member).to.equal("QUEUED");
    expect(await control.get(PAIR[0])).to.equal(null);
    expect(await redis.set(PAIR[1], "outside")).to.equal("OK");
  });

  for (const enableAutoPipelining of [false, true]) {
    it(`a part opened by hand is aborted, not run outside MULTI, auto-pipelining ${enableAutoPipelining}`, async () => {
      const client = new Redis({
        host: proxy.host,
        port: proxy.port,
        retryStrategy: () => 1,
        enableAutoPipelining,
      });
      client.on("error", () => {});
      try {
        expect(await client.multi({ pipeline: false })).to.equal("OK");
        expect(await client.set(PAIR[0], "part")).to.equal("QUEUED");
        const ready = new Promise((resolve) => client.once("ready", resolve));
        proxy.cutAll("reset");
        await ready;
        const rest = [client.set(PAIR[1], "part"), client.exec()];
        for (const failure of await Promise.all(rest.map(failureOf))) {
          expect(failure?.message).to.equal("Command aborted due to connection close");
        }
        expect(await control.mget(...PAIR)).to.deep.equal([null, null]);
        expect(await client.set(PAIR[0], "after")).to.equal("OK");
        await client.multi({ pipeline: false });
        await client.incr("whole:n");
        expect(await client.exec()).to.deep.equal([[null, await control.get("whole:n").then(Number)]]);
      } finally {
        await control.del("whole:n");
        await closeClient(client);
      }
    });
  }

  it("an unanswered transaction is sent again as one unit", async () => {
    proxy.fallSilent(Direction.ToServer);
    const rows = redis.multi().incr(PAIR[0]).incr(PAIR[1]).exec() as Promise<unknown>;
    await new Promise((resolve) => setTimeout(resolve, 20));
    proxy.heal();
    proxy.cutAll("reset");
    expect(await rows).to.deep.equal([
      [null, 1],
      [null, 1],
    ]);
  });

  it("an argument that cannot be sent keeps the whole transaction from being sent", async () => {
    const unsendable = { toString: null } as never;
    const failure = await failureOf(
      redis.multi().incr(PAIR[0]).set(PAIR[1], unsendable).exec() as Promise<unknown>,
    );
    expect(failure?.message).to.equal("EXECABORT Transaction discarded because of previous errors.");
    expect(failure?.previousErrors?.map((error) => (error as Failure).code)).to.include("INVALID_ARGUMENT");
    expect(await control.get(PAIR[0])).to.equal(null);
  });
});
