/** docs/guarantees.md: all fifteen promises, each row with tests that exist, each counting test with its counts. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

const PROMISES = 15;

describe("docs/guarantees.md", () => {
  const root = checkoutDirectory();
  const page = readFileSync(join(root, "docs/guarantees.md"), "utf8");
  const [promises = "", counts = ""] = page.split("\n## How often\n");
  const sections = promises.split(/\n## /).slice(1);

  it(`has ${PROMISES} promises, in order`, () => {
    const numbers = sections.map((section) => Number(/^(\d+)\. /.exec(section)?.[1]));
    expect(numbers).to.deep.equal(Array.from({ length: PROMISES }, (_, index) => index + 1));
  });

  for (const section of sections) {
    const title = section.split("\n", 1)[0];
    it(`each row of "${title}" links a test that exists`, () => {
      const table = section
        .split("\n")
        .filter((line) => line.startsWith("| ") && line.split(" | ").length === 5);
      const rows = table.filter((line) => !line.startsWith("| fault"));
      expect(rows).to.not.deep.equal([]);
      for (const row of rows) {
        const links = [...row.matchAll(/\[`(test\/[^`]+)`\]\(\.\.\/([^)]+)\)/g)];
        expect(links, row).to.not.deep.equal([]);
        for (const [, shown, target] of links) {
          expect(shown).to.equal(target);
          expect(existsSync(join(root, String(target))), target).to.equal(true);
        }
      }
    });
  }

  it("gives the counts of every test that counts", () => {
    const directory = join(root, "test/fault");
    const counting = readdirSync(directory).filter((name) =>
      readFileSync(join(directory, name), "utf8").includes("countInjections("),
    );
    expect(counting.length).to.be.greaterThan(8);
    for (const name of counting) expect(counts).to.match(new RegExp(`test/fault/${name}.*\\| [\\d,]+`));
  });
});
