/** The counters of a client include each command of a pipeline that is not written yet. */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Redis } from "../../src/index";
import { untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";

/** More than the socket buffers of both ends hold. */
const LARGE = 20_000;
const PADDING = "x".repeat(1024);

describe("the unwritten commands of a pipeline", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;
  let rows: Promise<unknown>;

  beforeEach(async () => {
    redis = fixture.connect({ watchdog: false });
    await untilReady(redis);
    fixture.proxy.stall("toServer");
    const pipeline = redis.pipeline();
    for (let i = 0; i < LARGE; i++) pipeline.echo(PADDING);
    rows = pipeline.exec();
    await waitUntil(async () => redis.stream?.writableNeedDrain === true, {
      timeoutMs: 5000,
      what: "the socket to be full",
    });
  });

  it("are counted by the queue", async () => {
    expect(redis.commandQueue.length).to.equal(LARGE);
    fixture.proxy.heal();
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
