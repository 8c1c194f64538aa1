/** A RESP3 client with subscriptions takes all commands, also before a new connection has said so. */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { outcomeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

describe("a client with subscriptions that reconnects", () => {
  const fixture = new ServerFixture().install();

  for (const moment of ["connecting", "connect"] as const) {
    it(`lets commands wait while it is ${moment}`, async () => {
      const { proxy, server } = fixture;
      const redis = fixture.connect();
      await redis.subscribe("news");
      expect(await redis.echo("before")).to.equal("before");
      const arrived = new Promise((resolve) => redis.once(moment, resolve));
      proxy.cutAll();
      proxy.stall("toServer");
      await arrived;
      expect([redis.status, redis.mode]).to.deep.equal([moment, "normal"]);
      const called = outcomeOf(redis.echo("meanwhile"));
      await sleep(5);
      proxy.heal();
      expect(await called).to.deep.equal(["fulfilled", "meanwhile"]);
      const heard = new Promise((resolve) => redis.once("message", (_channel, text) => resolve(text)));
      await server.command("PUBLISH", "news", "still here");
      expect(await outcomeOf(heard)).to.deep.equal(["fulfilled", "still here"]);
    });
  }
});
