import fs from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { incidentsTable } from "../../../benchmarks/incidents/picture";
import type { Incident } from "../../../benchmarks/incidents/scenes";
import { withFigures } from "../../../benchmarks/report/marked-place";
import { projectRoot, resultsFolder } from "../../../benchmarks/support/project";

describe("docs/observability.md", () => {
  it("has the figures of the recorded incidents", () => {
    const page = fs.readFileSync(path.join(projectRoot, "docs", "observability.md"), "utf8");
    const recorded = fs.readFileSync(path.join(resultsFolder, "incidents.json"), "utf8");
    const { incidents } = JSON.parse(recorded) as { incidents: Incident[] };
    expect(incidents.map(({ id }) => id)).to.deep.equal(["slow-server", "hot-caller", "reshard"]);
    expect(withFigures(page, incidentsTable(incidents), "incidents", "incidents")).to.equal(page);
  });
});
