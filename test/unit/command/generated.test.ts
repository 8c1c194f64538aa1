import { expect } from "chai";
import { generateFiles, staleFiles } from "../../../scripts/commands/generate";

describe("generated files", () => {
  it("are what the snapshots and the overrides say (build:test, then generate.js)", () => {
    expect(staleFiles().map(({ path }) => path)).to.deep.equal([]);
  });

  it("are the same each time", () => {
    expect(generateFiles()).to.deep.equal(generateFiles());
  });
});
