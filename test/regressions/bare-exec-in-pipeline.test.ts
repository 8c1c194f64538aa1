/** An EXEC in a pipeline without MULTI ends the transaction that was opened by hand before it. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

matrix("the rows of a bare EXEC are those of its transaction", {}, async ({ redis }) => {
  await redis.multi({ pipeline: false });
  const rows = await redis.pipeline().set("a", "1").call("incr", "a").call("exec").exec();
  expect(rows).to.deep.equal([
    [null, "QUEUED"],
    [null, "QUEUED"],
    [null, ["OK", 2]],
  ]);
});
