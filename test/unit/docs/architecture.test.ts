import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

describe("docs/architecture.md", () => {
  const root = checkoutDirectory();
  const text = readFileSync(join(root, "docs/architecture.md"), "utf8");
  const files = [...text.matchAll(/`((?:src|test)\/[^`]+)`/g)].map((match) => String(match[1]));

  it("names files", () => {
    expect(files.length).to.be.greaterThan(25);
  });

  for (const file of new Set(files)) {
    it(`names ${file}, which exists`, () => {
      expect(existsSync(join(root, file)), file).to.equal(true);
    });
  }
});
