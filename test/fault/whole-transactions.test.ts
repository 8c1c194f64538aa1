/**
 * Guarantee 4: transactions are whole. Whatever happens to the line, the server never runs a part
 * outside MULTI, half a transaction is never sent again, and after a lost WATCH nothing commits.
 */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { Direction } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient } from "../support/matrix";
import { errorOf, type Failure } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

const LONG = process.env.SLUICE_LONG === "1";
const PAIR = ["whole:a", "whole:b"] as const;

describe("transactions are whole", () => {
  const injections = countInjections("cuts inside transactions");
  const fixture = new ServerFixture().install();
  let redis: Redis;
  beforeEach(async () => {
    redis = fixture.connect();
    await redis.ping();
  });

  async function reconnect(): Promise<void> {
    const ready = new Promise((resolve) => redis.once("ready", resolve));
    fixture.proxy.cutAll("reset");
    await ready;
  }

  it("both counters of a transaction move together wherever the line is cut", async function () {
    this.timeout(120_000);
    for (let bytes = 1; bytes < 150; bytes += LONG ? 1 : 3) {
      for (const direction of [Direction.ToServer, Direction.ToClient]) {
        const client = fixture.connect({ disableClientInfo: true, enableReadyCheck: false, protocol: 2 });
        await new Promise((resolve) => client.once("ready", resolve));
        fixture.proxy.cutAfter({ direction, bytes, style: "reset" });
        await errorOf(client.multi().incr(PAIR[0]).incr(PAIR[1]).exec() as Promise<unknown>);
        const [a, b] = await fixture.control.mget(...PAIR);
        expect(a, `cut ${direction} at ${bytes}`).to.equal(b);
        injections.add();
        fixture.proxy.heal();
        await closeClient(client);
      }
    }
  });

  it("refuses EXEC after the connection that watched was lost, and a new WATCH works again", async () => {
    await redis.watch(PAIR[0]);
    await reconnect();
    await fixture.control.set(PAIR[0], "changed unseen");
    const failure = await errorOf(redis.multi().set(PAIR[0], "mine").exec() as Promise<unknown>);
    expect(failure?.code).to.equal("WATCH_LOST");
    expect(await fixture.control.get(PAIR[0])).to.equal("changed unseen");
    await redis.watch(PAIR[0]);
    expect(await (redis.multi().set(PAIR[0], "mine").exec() as Promise<unknown>)).to.deep.equal([
      [null, "OK"],
    ]);
  });

  it("does not send a guarded transaction again without its WATCH", async () => {
    await redis.watch(PAIR[0]);
    // The transaction is written into a line that no longer leads anywhere.
    fixture.proxy.fallSilent(Direction.ToServer);
    const outcome = errorOf(redis.multi().set(PAIR[0], "mine").exec() as Promise<unknown>);
    await new Promise((resolve) => setTimeout(resolve, 30));
    await fixture.control.set(PAIR[0], "changed unseen");
    fixture.proxy.heal();
    fixture.proxy.cutAll("reset");
    expect((await outcome)?.code).to.equal("OUTCOME_UNKNOWN");
    expect(await fixture.control.get(PAIR[0])).to.equal("changed unseen");
  });

  it("a transaction opened by hand refuses EXEC after a lost WATCH", async () => {
    await redis.watch(PAIR[0]);
    await reconnect();
    await redis.multi({ pipeline: false });
    const member = redis.set(PAIR[0], "mine");
    expect((await errorOf(redis.exec()))?.code).to.equal("WATCH_LOST");
    expect(await member).to.equal("QUEUED");
    expect(await fixture.control.get(PAIR[0])).to.equal(null);
    expect(await redis.set(PAIR[1], "outside")).to.equal("OK");
  });

  for (const enableAutoPipelining of [false, true]) {
    it(`a part opened by hand is aborted, not run outside MULTI, auto-pipelining ${enableAutoPipelining}`, async () => {
      const client = fixture.connect({ enableAutoPipelining });
      expect(await client.multi({ pipeline: false })).to.equal("OK");
      expect(await client.set(PAIR[0], "part")).to.equal("QUEUED");
      const ready = new Promise((resolve) => client.once("ready", resolve));
      fixture.proxy.cutAll("reset");
      await ready;
      const rest = [client.set(PAIR[1], "part"), client.exec()];
      for (const failure of await Promise.all(rest.map(errorOf))) {
        expect(failure?.message).to.equal("Command aborted due to connection close");
      }
      expect(await fixture.control.mget(...PAIR)).to.deep.equal([null, null]);
      expect(await client.set(PAIR[0], "after")).to.equal("OK");
      await client.multi({ pipeline: false });
      await client.incr("whole:n");
      expect(await client.exec()).to.deep.equal([[null, await fixture.control.get("whole:n").then(Number)]]);
    });
  }

  it("an unanswered transaction is sent again as one unit", async () => {
    fixture.proxy.fallSilent(Direction.ToServer);
    const rows = redis.multi().incr(PAIR[0]).incr(PAIR[1]).exec() as Promise<unknown>;
    await new Promise((resolve) => setTimeout(resolve, 20));
    fixture.proxy.heal();
    fixture.proxy.cutAll("reset");
    expect(await rows).to.deep.equal([
      [null, 1],
      [null, 1],
    ]);
  });

  it("an argument that cannot be sent keeps the whole transaction from being sent", async () => {
    const unsendable = { toString: null } as never;
    const failure = await errorOf(
      redis.multi().incr(PAIR[0]).set(PAIR[1], unsendable).exec() as Promise<unknown>,
    );
    expect(failure?.message).to.equal("EXECABORT Transaction discarded because of previous errors.");
    expect(failure?.previousErrors?.map((error) => (error as Failure).code)).to.include("INVALID_ARGUMENT");
    expect(await fixture.control.get(PAIR[0])).to.equal(null);
  });
});
