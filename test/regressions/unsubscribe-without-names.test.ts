/** Leaving all channels while patterns remain. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

matrix("unsubscribe() without names while another kind remains", {}, async ({ redis, server }) => {
  await redis.subscribe("a", "b");
  await redis.psubscribe("p*");
  await redis.ssubscribe("s");
  expect(await redis.unsubscribe()).to.equal(1);
  expect(await redis.sunsubscribe()).to.equal(0);
  const heard = new Promise((resolve) => redis.once("pmessage", (...args) => resolve(args)));
  await server.command("PUBLISH", "pp", "still here");
  expect(await heard).to.deep.equal(["p*", "pp", "still here"]);
  expect(await redis.punsubscribe()).to.equal(0);
  expect(await redis.get("none")).to.equal(null);
});
