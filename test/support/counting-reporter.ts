/**
 * A dot for each test, the failures in full at the end, and the three counts as JSON for whoever
 * started the run (path in SLUICE_COUNTS).
 */

import { writeFileSync } from "node:fs";
import Mocha from "mocha";

export class CountingReporter extends Mocha.reporters.Dot {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    runner.once("end", () => {
      const path = process.env.SLUICE_COUNTS;
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      if (path !== undefined) writeFileSync(path, JSON.stringify({ passed, failed, skipped }));
    });
  }
}

module.exports = CountingReporter;
