/** Without resending, a written command still settles when its connection is lost. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";

it("autoResendUnfulfilledCommands: false rejects what was in flight", async () => {
  const fake = await FakeServer.start((words) => (words[0] === "x" ? NO_REPLY : undefined));
  const redis = new Redis({
    port: fake.port,
    host: fake.host,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 1,
  });
  await untilReady(redis);
  const single = redis.call("x").catch((error: Error & { code: string }) => error.code);
  const rows = redis.pipeline().call("x").exec();
  await new Promise((resolve) => setTimeout(resolve, 10));
  fake.dropConnections();
  expect(await single).to.equal("OUTCOME_UNKNOWN");
  expect((await rows)?.[0]?.[0]?.name).to.equal("AbortError");
  expect(await redis.ping()).to.equal("PONG");
  await closeClient(redis);
  await fake.stop();
});
