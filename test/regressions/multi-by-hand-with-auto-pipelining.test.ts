/** A transaction opened by hand belongs to its caller, also beside auto-pipelining. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

matrix("multi({ pipeline: false }) does not hang", {}, async ({ redis }) => {
  const before = redis.incr("n");
  const opened = redis.multi({ pipeline: false });
  const queued = [redis.set("a", "1"), redis.get("a")];
  const rows = redis.exec();
  const after = redis.get("a");
  expect([await before, await opened, await after]).to.deep.equal([1, "OK", "1"]);
  expect(await Promise.all(queued)).to.deep.equal(["QUEUED", "QUEUED"]);
  expect(await rows).to.deep.equal([
    [null, "OK"],
    [null, "1"],
  ]);
});
