/** Leaving the last shard channel while ordinary channels remain. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

matrix(
  "the last sunsubscribe keeps subscriber mode and replies in order",
  { protocols: [2] },
  async (context) => {
    const { redis, server } = context;
    await redis.subscribe("ch");
    await redis.ssubscribe("shard");
    expect(await redis.sunsubscribe("shard")).to.equal(0);
    expect(redis.mode).to.equal("subscriber");
    const heard = new Promise((resolve) => redis.once("message", (...args) => resolve(args)));
    await server.command("PUBLISH", "ch", "hi");
    expect(await heard).to.deep.equal(["ch", "hi"]);
    expect(await redis.unsubscribe("ch")).to.equal(0);
    expect(redis.mode).to.equal("normal");
    expect(await redis.get("none")).to.equal(null);
  },
);
