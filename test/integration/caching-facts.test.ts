/** How far CLIENT CACHING YES reaches on real servers: decision 0017 rests on it. */

import { expect } from "chai";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { closeClient, untilReady } from "../support/matrix";
import { serverKinds, sharedServer } from "../support/shared-servers";

for (const kind of serverKinds()) {
  describe(`CLIENT CACHING YES, ${kind}`, () => {
    let server: ServerProcess;
    let redis: Redis;
    const told: string[] = [];

    before(async () => {
      server = await sharedServer(kind);
    });
    beforeEach(async () => {
      await server.command("FLUSHALL");
      redis = new Redis({ host: server.host, port: server.port });
      await untilReady(redis);
      told.length = 0;
      redis.on("push:invalidate", (message: [string, Buffer[]]) => told.push(...message[1].map(String)));
      await redis.client("TRACKING", "ON", "OPTIN");
    });
    afterEach(() => closeClient(redis));

    /** The keys that the server tells of when all of them have changed. */
    const toldOf = async (...keys: string[]): Promise<string[]> => {
      for (const key of keys) await server.command("SET", key, "1");
      await redis.ping();
      return told.sort();
    };

    it("speaks of one command", async () => {
      await redis.pipeline().client("CACHING", "YES").get("a").get("b").exec();
      expect(await toldOf("a", "b")).to.deep.equal(["a"]);
    });

    it("speaks of a whole transaction when it stands in front of MULTI", async () => {
      redis.client("CACHING", "YES");
      redis.multi({ pipeline: false });
      redis.get("a");
      redis.get("b");
      redis.exec();
      await redis.get("c");
      expect(await toldOf("a", "b", "c")).to.deep.equal(["a", "b"]);
    });

    it("speaks of all keys of an MGET, missing ones included", async () => {
      await server.command("SET", "a", "0");
      await redis.pipeline().client("CACHING", "YES").mget("a", "b").exec();
      expect(await toldOf("a", "b")).to.deep.equal(["a", "b"]);
    });

    it("is over with a command that is refused", async () => {
      await server.command("RPUSH", "list", "x");
      await redis.pipeline().client("CACHING", "YES").call("GET").get("b").exec();
      expect(await toldOf("b")).to.deep.equal([]);
    });
  });
}
