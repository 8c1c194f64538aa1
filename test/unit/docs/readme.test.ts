/** The figures of README.md and of the pages about pipelining are those that are stored; the commands beside them measure them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { withFigures } from "../../../benchmarks/report/marked-place";
import { PIPELINE_PAGES } from "../../../benchmarks/report/pipeline-figures";
import {
  LANDING,
  landingWith,
  README_PAGES,
  readmeFigures,
  readmeWith,
} from "../../../benchmarks/report/readme-figures";
import { scenarios } from "../../../benchmarks/scenario/all-scenarios";
import { readStored } from "../../../benchmarks/support/results-store";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

/** The words that `--only` can choose by. */
const ids = scenarios.flatMap(({ id, rows }) => [id, ...rows.map((row) => row.id)]);

function wordsOf(page: string): string[] {
  return [...page.matchAll(/--only=([\w,.-]+)/g)].flatMap(([, words = ""]) => words.split(","));
}

describe("README.md", () => {
  const results = readStored();

  it("shows the stored figures (npm run bench -- --page)", () => {
    if (results === undefined) throw new Error("no stored results");
    expect(readmeFigures(results)).to.be.a("string");
    for (const file of README_PAGES) {
      const shown = readFileSync(file, "utf8");
      expect(readmeWith(shown, results), file).to.equal(shown);
    }
  });

  it("site/landing.md shows the stored figures (npm run bench -- --page)", () => {
    if (results === undefined) throw new Error("no stored results");
    const shown = readFileSync(LANDING, "utf8");
    expect(shown).to.match(/requests a second with sluice/);
    expect(landingWith(shown, results)).to.equal(shown);
  });

  it("has one command for the demo and one for all tests", () => {
    const readme = readFileSync(join(checkoutDirectory(), "README.md"), "utf8");
    const { scripts } = JSON.parse(readFileSync(join(checkoutDirectory(), "package.json"), "utf8"));
    expect(readme)
      .to.match(/^npm run demo\b/m)
      .and.to.match(/^npm test\b/m);
    expect(scripts).to.include.keys("demo", "test");
  });

  it("names rows that exist", () => {
    const words = [...String(results && readmeFigures(results)).matchAll(/\| `([\w-]+)` \|$/gm)].map(
      ([, id = ""]) => id,
    );
    expect(words).to.have.length.greaterThan(3);
    expect(words.filter((word) => !ids.some((id) => id.includes(word)))).to.deep.equal([]);
  });
});

for (const { file, figures } of PIPELINE_PAGES) {
  describe(file.slice(checkoutDirectory().length + 1), () => {
    const page = readFileSync(file, "utf8");

    it("shows the stored figures (npm run bench -- --page)", () => {
      const results = readStored();
      const text = results === undefined ? null : figures(results);
      expect(text).to.be.a("string").and.not.include("NaN");
      expect(withFigures(page, String(text))).to.equal(page);
    });

    it("names rows that exist", () => {
      const words = wordsOf(page);
      expect(words).to.not.deep.equal([]);
      expect(words.filter((word) => !ids.some((id) => id.includes(word)))).to.deep.equal([]);
    });
  });
}
