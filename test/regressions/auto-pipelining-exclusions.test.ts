/** Commands that may not wait in an automatic batch are recognised, however they are called. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

const options = { autoPipelining: [true] } as const;

matrix(
  "order of issue is order of sending, around everything that is not gathered",
  options,
  async ({ redis }) => {
    const results = await Promise.all([
      redis.incr("n"),
      redis.call("SELECT", 1),
      redis.incr("n"),
      redis.select(0),
      redis.multi().incr("n").exec(),
      redis.incr("n"),
    ]);
    expect(results).to.deep.equal([1, "OK", 1, "OK", [[null, 2]], 3]);
  },
);

matrix("subscribing, watching and blocking commands leave at once", options, async ({ redis }) => {
  const sizes: number[] = [];
  const work: Promise<unknown>[] = [];
  for (const [name, ...args] of [
    ["punsubscribe", "p*"],
    ["ssubscribe", "s"],
    ["SUNSUBSCRIBE", "s"],
    ["watch", "k"],
    ["unwatch"],
    ["BLPOP", "none", "0.01"],
    ["xread", "BLOCK", "1", "STREAMS", "none", "$"],
    ["INFO"],
  ] as const) {
    work.push(redis.call(name, ...args));
    sizes.push(redis.autoPipelineQueueSize);
  }
  expect(sizes).to.deep.equal(Array(work.length).fill(0));
  await Promise.all(work);
});
