/** A pipeline runs once. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

const USED = "Pipeline cannot be used to send any commands when the `exec()` has been called on it.";

matrix("a second exec() is refused and sends nothing", {}, async ({ redis }) => {
  for (const batch of [redis.pipeline().incr("n"), redis.multi().incr("m")]) {
    const first = batch.exec();
    expect(await first).to.deep.equal([[null, 1]]);
    const again = await Promise.resolve(batch.exec()).catch((error: Error) => error.message);
    expect(again).to.equal(USED);
    expect(await (batch as unknown as { promise: Promise<unknown> }).promise).to.deep.equal([[null, 1]]);
  }
  expect(await redis.mget("n", "m")).to.deep.equal(["1", "1"]);
});
