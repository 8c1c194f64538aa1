/** Commands that are queued after exec() are counted and not sent, whatever they are and however large the pipeline. */

import { expect } from "chai";
import { matrix } from "../support/matrix";

/** Large enough to be written piece by piece. */
const LARGE = 3000;

interface WithScript {
  count(key: string): unknown;
}

for (const last of ["a command", "a script"]) {
  matrix(`queued after exec(): ${last}`, {}, async ({ redis }) => {
    redis.defineCommand("count", { lua: "return redis.call('incr', KEYS[1])", numberOfKeys: 1 });
    const pipeline = redis.pipeline();
    for (let i = 1; i < LARGE; i++) pipeline.incr("n");
    if (last === "a command") pipeline.incr("n");
    else (pipeline as unknown as WithScript).count("n");
    const rows = pipeline.exec();
    (pipeline as unknown as WithScript).count("late");
    pipeline.call(undefined as never);
    expect(pipeline.length).to.equal(LARGE + 2);
    expect(await rows).to.deep.equal(Array.from({ length: LARGE }, (_, i) => [null, i + 1]));
    expect(await redis.mget("n", "late")).to.deep.equal([String(LARGE), null]);
    expect(redis.commandQueue.length).to.equal(0);
  });
}
