/** A pipeline that travels as one entry of a queue still counts as all of its commands. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import { Redis } from "../../src/index";
import { FaultProxy } from "../support/fault-proxy";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

/** More than the socket buffers of both ends hold. */
const LARGE = 20_000;
const PADDING = "x".repeat(1024);

describe("plain calls that are not written", () => {
  let server: ServerProcess;
  let proxy: FaultProxy;
  let redis: Redis;
  let rows: Promise<unknown>;

  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });
  beforeEach(async () => {
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
    redis = new Redis({ host: proxy.host, port: proxy.port, watchdog: false });
    redis.on("error", () => {});
    await untilReady(redis);
    proxy.stall("toServer");
    const pipeline = redis.pipeline();
    for (let i = 0; i < LARGE; i++) pipeline.echo(PADDING);
    rows = pipeline.exec();
    await waitUntil(async () => redis.stream?.writableNeedDrain === true, {
      timeoutMs: 5000,
      what: "the socket to be full",
    });
  });
  afterEach(async () => {
    await closeClient(redis);
    await proxy.stop();
  });

  it("are counted by the queue", async () => {
    expect(redis.commandQueue.length).to.equal(LARGE);
    proxy.heal();
    await rows;
    expect(redis.commandQueue.length).to.equal(0);
  });

  it("are in the report of quit({ timeout })", async () => {
    const { isDrained, unanswered, unsent } = await redis.quit({ timeout: 10 });
    expect([isDrained, unanswered + unsent]).to.deep.equal([false, LARGE]);
    expect(Math.min(unanswered, unsent)).to.be.above(0);
    expect(await rows).to.have.length(LARGE);
  });

  it("are in the details of a time limit", async () => {
    const failure = await redis
      .with({ timeout: 10 })
      .get("behind")
      .then(
        () => null,
        (error: Error & { details?: { commandsAhead: number } }) => error,
      );
    expect(failure?.details?.commandsAhead).to.equal(LARGE);
  });
});
