/** `exec({ batchSize })` with a size that no part can have never settled. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { matrix } from "../support/matrix";

matrix(
  "a batch size that is no size rejects and sends nothing",
  { servers: [ServerKind.Redis], protocols: [3], autoPipelining: [false] },
  async ({ redis }) => {
    for (const batchSize of [0, -1, Number.NaN]) {
      const pipeline = redis.pipeline().incr("n").incr("n");
      const error = await pipeline.exec({ batchSize }).then(
        () => null,
        (failure: Error) => failure,
      );
      expect(error).to.be.instanceOf(RangeError);
      expect(error?.message).to.contain("batchSize");
    }
    expect(await redis.get("n")).to.equal(null);
  },
);
