/** The figures of README.md are those that are stored, and the command beside them measures them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { withFigures } from "../../../benchmarks/report/marked-place";
import { readmeFigures } from "../../../benchmarks/report/readme-figures";
import { scenarios } from "../../../benchmarks/scenario/all-scenarios";
import { readStored } from "../../../benchmarks/support/results-store";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

describe("README.md", () => {
  const page = readFileSync(join(checkoutDirectory(), "README.md"), "utf8");

  it("shows the stored figures (npm run bench -- --page)", () => {
    const results = readStored();
    const figures = results === undefined ? null : readmeFigures(results);
    expect(figures).to.be.a("string");
    expect(withFigures(page, String(figures))).to.equal(page);
  });

  it("names scenarios that exist", () => {
    const names = /npm run bench -- --only=([\w,-]+)/.exec(page)?.[1]?.split(",");
    expect(names).to.not.equal(undefined);
    expect(scenarios.map(({ id }) => id)).to.include.members(names ?? []);
  });
});
