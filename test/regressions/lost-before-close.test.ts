/**
 * Between the error of a socket and its close, calls wait offline already. What they relied on
 * (a WATCH, a MULTI that was opened by hand) is lost with that connection all the same.
 */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { untilReady } from "../support/matrix";
import { codeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

for (const enableAutoPipelining of [false, true]) {
  describe(`a socket with an error that is not closed yet, auto-pipelining ${enableAutoPipelining}`, () => {
    const fixture = new ServerFixture().install();
    let redis: Redis;
    beforeEach(async () => {
      redis = fixture.connect({ enableAutoPipelining });
      await Promise.all([redis, fixture.control].map(untilReady));
    });

    it("a transaction under a lost WATCH is refused", async () => {
      await redis.watch("guard");
      await fixture.control.set("guard", "theirs");
      redis.stream?.destroy(new Error("gone"));
      const code = await codeOf(redis.multi().set("guard", "mine").exec());
      expect([code, await fixture.control.get("guard")]).to.deep.equal(["WATCH_LOST", "theirs"]);
      expect(await redis.multi().set("other", 1).exec()).to.deep.equal([[null, "OK"]]);
    });

    it("the rest of a transaction opened by hand does not run outside of it", async () => {
      await redis.multi({ pipeline: false });
      await redis.set("first", 1);
      redis.stream?.destroy(new Error("gone"));
      const codes = await Promise.all([redis.set("second", 1), redis.exec()].map(codeOf));
      expect(codes).to.deep.equal(["ABORTED", "ABORTED"]);
      expect(await fixture.control.mget("first", "second")).to.deep.equal([null, null]);
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
