/** A bulk of which several batches find no node ends with one error, which nobody has to hear twice. */

import { expect } from "chai";
import { Cluster } from "../../src/index";
import type { Bulk } from "../../src/pipeline/bulk";
import { codeOf } from "../support/outcome";
import { uncaughtDuring } from "../support/uncaught";

/** Nobody listens there. */
const NOWHERE = { host: "127.0.0.1", port: 1 };

const WAYS: Record<string, (bulk: Bulk) => Promise<unknown>> = {
  "its rows are read": async (bulk) => {
    for await (const row of bulk) void row;
  },
  "its summary is asked for": (bulk) => bulk.summary(),
};

describe("a bulk whose cluster cannot be reached", () => {
  for (const [title, run] of Object.entries(WAYS)) {
    it(`fails once while ${title}`, async () => {
      const cluster = new Cluster([NOWHERE], { clusterRetryStrategy: () => null });
      cluster.on("error", () => {});
      const commands = Array.from({ length: 6 }, (_, index) => ["get", `k${index}`]);
      let code = "";
      const unheard = await uncaughtDuring(async () => {
        code = await codeOf(run(cluster.bulk(commands, { batchSize: 2, inFlight: 3 })));
      });
      expect([code, unheard]).to.deep.equal(["CLUSTER_UNAVAILABLE", []]);
      cluster.disconnect();
    });
  }
});
