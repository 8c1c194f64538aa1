/**
 * A transaction that was written in part when its rest was given up does not run: the caller was
 * told that EXEC, or a member, had not been sent.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

type Failure = Error & { code?: string; details?: { phase: string; mayHaveRun: boolean } };

describe("a transaction of which a part was written", () => {
  let server: ServerProcess;
  let proxy: FaultProxy;
  let redis: Redis;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  beforeEach(async () => {
    await server.command("FLUSHALL");
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    redis = new Redis({ host: proxy.host, port: proxy.port, watchdog: false });
    redis.on("error", () => {});
    await untilReady(redis);
  });
  afterEach(async () => {
    await closeClient(redis);
    await proxy.stop();
  });

  function failureOf(call: Promise<unknown>): Promise<Failure | null> {
    return call.then(
      () => null,
      (error: Failure) => error,
    );
  }

  /** Opens a transaction and stops the line until nothing more can be written. */
  async function openAndStall(): Promise<Promise<unknown>[]> {
    await redis.multi({ pipeline: false });
    expect(await redis.incr("part:n")).to.equal("QUEUED");
    proxy.stall("toServer");
    const fillers = Array.from({ length: 32 }, () => redis.set("part:big", "x".repeat(1 << 20)));
    while (redis.stream?.writableNeedDrain !== true) await new Promise((resolve) => setImmediate(resolve));
    return fillers;
  }

  it("does not run when its EXEC was given up before it was written", async () => {
    const fillers = await openAndStall();
    const failure = await failureOf(redis.with({ timeout: 20 }).exec());
    expect(failure?.code).to.equal("COMMAND_TIMEOUT");
    expect(failure?.details).to.include({ phase: "queued", mayHaveRun: false });
    proxy.heal();
    await Promise.allSettled(fillers);
    expect(await redis.echo("outside")).to.equal("outside");
    expect(await redis.get("part:n")).to.equal(null);
  });

  it("does not run when a member was given up before it was written", async () => {
    const fillers = await openAndStall();
    const failure = await failureOf(redis.with({ timeout: 20 }).incr("part:other"));
    expect(failure?.details).to.include({ phase: "queued", mayHaveRun: false });
    const exec = failureOf(redis.exec());
    proxy.heal();
    await Promise.allSettled(fillers);
    expect((await exec)?.code).to.equal("ABORTED");
    expect(await redis.echo("outside")).to.equal("outside");
    expect(await redis.mget("part:n", "part:other")).to.deep.equal([null, null]);
  });
});
