/** A transaction opened by hand belongs to its caller, also beside auto-pipelining. */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { matrix } from "../support/matrix";
import { type Failure, failureOf } from "../support/outcome";
import { serverKinds } from "../support/shared-servers";

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

/** Valkey discards a transaction with a refused WATCH. */
const QUEUES_ON = serverKinds().filter((kind) => kind !== ServerKind.Valkey);

matrix(
  "errors in the rows of multi({ pipeline: false }) name their commands",
  { servers: QUEUES_ON },
  async ({ redis }) => {
    await redis.set("text", "a");
    const opened = redis.multi({ pipeline: false });
    // The server refuses it, and does not queue it.
    const refused = failureOf(redis.watch("text"));
    const queued = [redis.get("text"), redis.lpush("text", "x"), redis.get("text")];
    const rows = (await redis.exec()) ?? [];
    await Promise.all([opened, refused, ...queued]);
    expect(rows.map(([error, value]) => (error as Failure | null)?.command ?? value)).to.deep.equal([
      "a",
      { name: "lpush", args: ["text", "x"] },
      "a",
    ]);
    expect(rows[1]?.[0]?.stack).to.include("at (lpush text ?)");
  },
);
