/**
 * Sentences that compare speeds are checked against the stored results of `npm run bench`. The generated tables of the
 * pages have tests of their own (readme.test.ts, auto-pipelining.test.ts).
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { figureOf } from "../../../benchmarks/report/tables";
import { type Results, readStored } from "../../../benchmarks/support/results-store";
import { CPU } from "../../../benchmarks/support/scenario";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

const root = checkoutDirectory();
interface Claim {
  readonly page: string;
  readonly text: string;
  /** Whether the stored results support the sentence. */
  holds(results: Results): boolean;
}

function cpu(results: Results, scenario: string, row: string): number {
  return figureOf(results.scenarios[scenario]?.rows[row], "sluice", CPU) ?? Number.NaN;
}

const CLAIMS: readonly Claim[] = [
  {
    page: "README.md",
    text: "gains little from any pipelining client",
    holds: (results) => {
      const row = results.scenarios["one-at-a-time"]?.rows["sequential-get"];
      const own = figureOf(row, "sluice", CPU) ?? Number.NaN;
      const other = figureOf(row, "ioredis", CPU) ?? Number.NaN;
      return own < other * 1.05 && own > other * 0.5;
    },
  },
  {
    page: "docs/pipelining.md",
    text: "An explicit pipeline of five or more commands saves CPU time",
    holds: (results) =>
      cpu(results, "explicit-pipelines", "pipeline-1000") < cpu(results, "same-turn", "all-1000-default"),
  },
];

describe("prose that compares", () => {
  for (const { page, text, holds } of CLAIMS) {
    it(`${page}: ${text}`, () => {
      expect(readFileSync(join(root, page), "utf8")).to.include(text);
      const results = readStored();
      if (results === undefined) throw new Error("no stored results");
      expect(holds(results), "the stored results support the sentence").to.equal(true);
    });
  }
});
