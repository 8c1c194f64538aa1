/**
 * Between the error of a socket and its close, calls wait offline already. What they relied on
 * (a WATCH, a MULTI that was opened by hand) is lost with that connection all the same.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { Redis } from "../../src/index";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const codeOf = (call: Promise<unknown>): Promise<string | null> =>
  call.then(
    () => null,
    (error: Error & { code?: string }) => String(error.code),
  );

for (const enableAutoPipelining of [false, true]) {
  describe(`a socket with an error that is not closed yet, auto-pipelining ${enableAutoPipelining}`, () => {
    let server: ServerProcess;
    let redis: Redis;
    let control: Redis;
    before(async () => {
      server = await sharedServer(ServerKind.Redis);
    });
    beforeEach(async () => {
      const place = { host: server.host, port: server.port };
      redis = new Redis({ ...place, retryStrategy: () => 1, enableAutoPipelining });
      redis.on("error", () => {});
      control = new Redis(place);
      await Promise.all([redis, control].map(untilReady));
      await control.flushall();
    });
    afterEach(() => Promise.all([redis, control].map(closeClient)));

    it("a transaction under a lost WATCH is refused", async () => {
      await redis.watch("guard");
      await control.set("guard", "theirs");
      redis.stream?.destroy(new Error("gone"));
      const code = await codeOf(redis.multi().set("guard", "mine").exec());
      expect([code, await control.get("guard")]).to.deep.equal(["WATCH_LOST", "theirs"]);
      expect(await redis.multi().set("other", 1).exec()).to.deep.equal([[null, "OK"]]);
    });

    it("the rest of a transaction opened by hand does not run outside of it", async () => {
      await redis.multi({ pipeline: false });
      await redis.set("first", 1);
      redis.stream?.destroy(new Error("gone"));
      const codes = await Promise.all([redis.set("second", 1), redis.exec()].map(codeOf));
      expect(codes).to.deep.equal(["ABORTED", "ABORTED"]);
      expect(await control.mget("first", "second")).to.deep.equal([null, null]);
    });

    it("nothing overtakes what waits for the next connection", async () => {
      await redis.set("k", "old");
      redis.stream?.destroy(new Error("gone"));
      const rows = redis.multi().set("k", "new").exec();
      const values = await Promise.all([redis.get("k"), redis.pipeline().get("k").exec()]);
      expect(values).to.deep.equal(["new", [[null, "new"]]]);
      expect(await rows).to.deep.equal([[null, "OK"]]);
    });

    it("all else goes on", async () => {
      redis.stream?.destroy(new Error("gone"));
      const watched = redis.watch("guard");
      const rows = redis.multi().set("guard", "mine").exec();
      expect(await redis.incr("n")).to.equal(1);
      expect([await watched, await rows]).to.deep.equal(["OK", [[null, "OK"]]]);
    });
  });
}
