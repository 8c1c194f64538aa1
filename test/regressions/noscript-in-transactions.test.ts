/** A script that the server forgot, inside MULTI ... EXEC. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

matrix("NOSCRIPT does not reach the caller of a transaction", {}, async ({ redis, server }) => {
  redis.defineCommand("echo2", { lua: "return {KEYS[1], ARGV[1]}", numberOfKeys: 1 });
  const client = redis as unknown as { echo2(...args: string[]): Promise<unknown> };
  await client.echo2("k", "1");
  await server.command("SCRIPT", "FLUSH");
  const multi = redis.multi([
    ["echo2", "k", "2"],
    ["echo2", "k", "3"],
  ]);
  expect(await multi.exec()).to.deep.equal([
    [null, ["k", "2"]],
    [null, ["k", "3"]],
  ]);
});
