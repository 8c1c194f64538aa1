/**
 * A dot for each test, the failures in full at the end. The file named by SLUICE_COUNTS takes the
 * three counts and, of each failure, the file, the full title and the message, as JSON.
 */

import { writeFileSync } from "node:fs";
import Mocha from "mocha";

interface Failure {
  file: string | undefined;
  title: string;
  message: string;
}

export class CountingReporter extends Mocha.reporters.Dot {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const failures: Failure[] = [];
    runner.on("fail", (test, error) => {
      const message = String(error?.message ?? error).split("\n", 1)[0] ?? "";
      failures.push({ file: test.file ?? test.parent?.file, title: test.fullTitle(), message });
    });
    runner.once("end", () => {
      const path = process.env.SLUICE_COUNTS;
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      if (path !== undefined) writeFileSync(path, JSON.stringify({ passed, failed, skipped, failures }));
    });
  }
}

module.exports = CountingReporter;
