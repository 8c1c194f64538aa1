/** An onProgress that throws ends its bulk with that error, counts no batch twice and ends nothing else. */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import type { Bulk } from "../../src/pipeline/bulk";
import { untilReady } from "../support/matrix";
import { ServerFixture } from "../support/server-fixture";
import { uncaughtDuring } from "../support/uncaught";

const WAYS: Record<string, (bulk: Bulk) => Promise<unknown>> = {
  "its rows are read": async (bulk) => {
    for await (const row of bulk) expect(row).to.have.length(2);
  },
  "its summary is asked for": (bulk) => bulk.summary(),
};

describe("an onProgress that throws", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;
  beforeEach(() => {
    redis = fixture.connect();
    return untilReady(redis);
  });

  for (const [title, run] of Object.entries(WAYS)) {
    it(`while ${title}`, async () => {
      const commands = Array.from({ length: 10 }, () => ["echo", "a"]);
      const onProgress = (): void => {
        throw new Error("from onProgress");
      };
      let message = "nothing was thrown";
      let settled = 0;
      const uncaught = await uncaughtDuring(async () => {
        const bulk = redis.bulk(commands, { batchSize: 10, onProgress });
        await run(bulk).catch((error: Error) => {
          message = error.message;
        });
        settled = bulk.progress.settled;
      });
      expect([message, settled, uncaught]).to.deep.equal(["from onProgress", 10, []]);
    });
  }
});
