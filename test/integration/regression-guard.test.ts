/**
 * Fails when the client allocates more, writes more often or makes more promises for the same commands than the stored
 * counts say. None of these depends on the clock. After a change that lowers them on purpose, or that has a good reason
 * to raise them, store the new ones with `npm run bench:counts -- --update`.
 */

import path from "node:path";
import { expect } from "chai";
import { type CountTable, isPaced, regressions } from "../../benchmarks/support/count-baseline";
import { BATCH_COMMANDS, type CountedLoad, type Counts } from "../../benchmarks/support/counts";
import { runCounts } from "../../benchmarks/support/run-counts";
import { findAnyServer } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";

const CLIENT_MODULE = path.join(__dirname, "..", "..", "src", "index.js");
const TELEMETRY_MODULE = path.join(__dirname, "..", "..", "src", "otel", "index.js");
/** Two runs on a busy machine differ by less; the context that a listener is given takes far more for each command. */
const UNHEARD_TOLERANCE = 0.5;

describe("regression guard", () => {
  let counts: CountTable;
  /** The same after somebody has listened to everything, and has ceased. */
  let unheard: CountTable;

  before(async function () {
    this.timeout(120_000);
    const server = await ServerProcess.start({ binary: await findAnyServer() });
    try {
      counts = await runCounts(CLIENT_MODULE, server.port);
      unheard = await runCounts(CLIENT_MODULE, server.port, TELEMETRY_MODULE);
    } finally {
      await server.stop();
    }
  });

  it("one socket write for a turn with that policy, a pipeline, a lone command", () => {
    for (const [load, { writesPerBatch }] of Object.entries(counts) as [CountedLoad, Counts][]) {
      // Each early write of a turn takes at least half as much as is in flight. A shared processor has none.
      if (isPaced(load)) expect(writesPerBatch, load).to.be.within(1, 18);
      else expect(writesPerBatch).to.equal(1);
    }
  });

  it("one promise for a whole pipeline, and one for a single command", () => {
    expect(counts.pipeline.promisesPerBatch).to.equal(1);
    expect(counts.awaited.promisesPerBatch).to.equal(1);
    expect(counts.turn.promisesPerBatch).to.equal(BATCH_COMMANDS);
    expect(counts["turn-auto"].promisesPerBatch).to.equal(BATCH_COMMANDS);
  });

  it("nobody listens any more: nothing is made for tracers", () => {
    for (const load of ["turn-once", "turn-auto", "pipeline", "awaited"] as const) {
      const { bytesPerCommand, writesPerBatch, promisesPerBatch } = unheard[load];
      const before = counts[load];
      expect(bytesPerCommand, load).to.be.below(before.bytesPerCommand * (1 + UNHEARD_TOLERANCE));
      if (!isPaced(load)) expect(writesPerBatch, load).to.be.closeTo(before.writesPerBatch, 0.05);
      expect(promisesPerBatch, load).to.be.closeTo(before.promisesPerBatch, 0.05);
    }
  });

  it("no count has grown beyond the stored ones", () => {
    expect(regressions(counts)).to.deep.equal([]);
  });
});
