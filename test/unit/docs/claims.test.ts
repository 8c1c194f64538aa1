/**
 * Prose that compares speeds or counts microseconds goes stale when the figures are measured again. It stands in places
 * that `npm run bench` writes, or is one of the sentences below, each with what holds it to a measurement.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { withoutFigures } from "../../../benchmarks/report/marked-place";
import { figureOf } from "../../../benchmarks/report/tables";
import { type Results, readStored } from "../../../benchmarks/support/results-store";
import { CPU } from "../../../benchmarks/support/scenario";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

const root = checkoutDirectory();
/** Written by the suite as a whole. */
const GENERATED = ["benchmarks.md"];
const COMPARISONS = [
  /\d[\d.,]*\s?(?:µs|us\b|microseconds?\b)/,
  /\d[\d.,]*[Mk]? (?:commands |operations |requests )a second/,
  /\b(?:fast|slow|cheap|quick)(?:er|est)\b(?! than the program reads)/,
  /\b(?:twice|thrice|half|a third|a quarter|a fifth|a sixth|a tenth|ten times) (?:as (?:fast|much|long|many)|the (?:time|CPU|speed)|less|more|longer)/,
  /\d\s?(?:%|percent) (?:less|more|faster|slower|longer)/,
];

interface Claim {
  readonly page: string;
  readonly text: string;
  /** True as long as the stored results say the same. */
  holds?(results: Results): boolean;
  /** The test that measures it. */
  readonly test?: string;
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
    text: "An explicit pipeline is worth its line of code from about five commands on",
    holds: (results) =>
      cpu(results, "explicit-pipelines", "pipeline-1000") < cpu(results, "same-turn", "all-1000-default"),
  },
];

function pages(): string[] {
  const docs = readdirSync(join(root, "docs")).filter(
    (name) => name.endsWith(".md") && !GENERATED.includes(name),
  );
  return ["README.md", ...docs.map((name) => `docs/${name}`)];
}

/** Sentences, cells and list entries of the prose. */
function sentencesOf(page: string): string[] {
  const prose = withoutFigures(readFileSync(join(root, page), "utf8")).replaceAll(/```[\s\S]*?```/g, "");
  return prose.split("\n").flatMap((line) => line.split(/(?<=[.:;])\s|\s\|\s/));
}

describe("prose that compares", () => {
  for (const page of pages()) {
    it(`${page} has no comparison that nothing holds to the figures`, () => {
      const known = CLAIMS.filter((claim) => claim.page === page);
      const found = sentencesOf(page).filter(
        (sentence) =>
          COMPARISONS.some((pattern) => pattern.test(sentence)) &&
          !known.some(({ text }) => sentence.includes(text)),
      );
      expect(found).to.deep.equal([]);
    });
  }

  for (const { page, text, holds, test } of CLAIMS) {
    it(`${page}: ${text}`, () => {
      expect(readFileSync(join(root, page), "utf8")).to.include(text);
      if (test !== undefined) expect(existsSync(join(root, test)), test).to.equal(true);
      const results = readStored();
      if (results === undefined) throw new Error("no stored results");
      if (holds !== undefined) expect(holds(results), "what the stored results say").to.equal(true);
      expect(holds ?? test, "something that holds it").to.not.equal(undefined);
    });
  }
});
