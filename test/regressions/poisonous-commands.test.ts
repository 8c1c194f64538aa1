/** A command that kills its connection every time is given up, and frees those behind it. */

import { expect } from "chai";
import { Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";

for (const enableAutoPipelining of [false, true]) {
  it(`it is sent three times, auto-pipelining ${enableAutoPipelining ? "on" : "off"}`, async () => {
    const fake = await FakeServer.start((words, { socket }) => {
      if (words[0] !== "poison") return words[0] === "get" ? "v" : undefined;
      socket.destroy();
      return NO_REPLY;
    });
    const redis = new Redis({
      port: fake.port,
      host: fake.host,
      enableAutoPipelining,
      retryStrategy: () => 1,
    });
    await untilReady(redis);
    const poison = redis.call("poison").catch((error: Error & { code: string }) => error.code);
    const behind = redis.get("a");
    expect(await poison).to.equal("COMMAND_LOST");
    expect(await behind).to.equal("v");
    expect(fake.received.filter(([word]) => word === "poison")).to.have.length(3);
    await closeClient(redis);
    await fake.stop();
  });
}
