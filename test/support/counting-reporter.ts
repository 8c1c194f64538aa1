/**
 * A dot for each test, the failures in full at the end. The file named by SLUICE_COUNTS takes the
 * three counts, the seconds of each file (its hooks included), and of each failure the file, the outermost suite, the
 * full title and the message, as JSON.
 */

import { writeFileSync } from "node:fs";
import Mocha from "mocha";

interface Failure {
  file: string | undefined;
  suite: string | undefined;
  title: string;
  message: string;
}

function fileOf(runnable: Mocha.Runnable): string | undefined {
  return runnable.file ?? runnable.parent?.file;
}

/** The title of the `describe` that no other one encloses: what can be repeated without the rest of its file. */
function outermostSuite({ parent }: Mocha.Runnable): string | undefined {
  let suite = parent;
  while (suite?.parent !== undefined && !suite.parent.root) suite = suite.parent;
  return suite?.root === false ? suite.title : undefined;
}

export class CountingReporter extends Mocha.reporters.Dot {
  constructor(runner: Mocha.Runner, options: Mocha.MochaOptions) {
    super(runner, options);
    const failures: Failure[] = [];
    const seconds: Record<string, number> = {};
    let startedAtMs = performance.now();
    const addTime = (runnable: Mocha.Runnable): void => {
      const file = fileOf(runnable);
      if (file === undefined) return;
      const endedAtMs = performance.now();
      seconds[file] = (seconds[file] ?? 0) + (endedAtMs - startedAtMs) / 1000;
      startedAtMs = endedAtMs;
    };
    runner.on("test end", addTime);
    runner.on("hook end", addTime);
    runner.on("fail", (test, error) => {
      const message = String(error?.message ?? error).split("\n", 1)[0] ?? "";
      const suite = outermostSuite(test);
      failures.push({ file: fileOf(test), suite, title: test.fullTitle(), message });
    });
    runner.once("end", () => {
      const path = process.env.SLUICE_COUNTS;
      const { passes: passed, failures: failed, pending: skipped } = this.stats;
      const report = { passed, failed, skipped, failures, seconds };
      if (path !== undefined) writeFileSync(path, JSON.stringify(report));
    });
  }
}

module.exports = CountingReporter;
