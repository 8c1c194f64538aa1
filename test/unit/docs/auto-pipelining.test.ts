/** The tables of docs/auto-pipelining.md are those that are stored, and the command beside them measures them. */

import { readFileSync } from "node:fs";
import { expect } from "chai";
import { withFigures } from "../../../benchmarks/report/marked-place";
import { WINDOW_PAGE, windowFigures } from "../../../benchmarks/report/window-figures";
import { scenarios } from "../../../benchmarks/scenario/all-scenarios";
import { readStored } from "../../../benchmarks/support/results-store";

describe("docs/auto-pipelining.md", () => {
  const page = readFileSync(WINDOW_PAGE, "utf8");

  it("shows the stored figures (npm run bench -- --page)", () => {
    const results = readStored();
    const figures = results === undefined ? null : windowFigures(results);
    expect(figures).to.be.a("string");
    expect(withFigures(page, String(figures))).to.equal(page);
  });

  it("names a scenario that exists", () => {
    const name = /npm run bench -- --only=([\w-]+)/.exec(page)?.[1];
    expect(scenarios.map(({ id }) => id)).to.include(name);
  });
});
