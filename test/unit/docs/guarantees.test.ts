/** docs/guarantees.md: each row links tests that exist. test/README.md: each counting test with its counts. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

const PROMISES = 13;

describe("docs/guarantees.md", () => {
  const root = checkoutDirectory();
  const page = readFileSync(join(root, "docs/guarantees.md"), "utf8");
  const sections = page.split(/\n## /).slice(1);

  it(`has ${PROMISES} promises, in order`, () => {
    const numbers = sections.map((section) => Number(/^(\d+)\. /.exec(section)?.[1]));
    expect(numbers).to.deep.equal(Array.from({ length: PROMISES }, (_, index) => index + 1));
  });

  for (const section of sections) {
    const title = section.split("\n", 1)[0];
    it(`each row of "${title}" links a test that exists`, () => {
      const [, table = ""] = section.split("\n| fault | result for the caller | test |\n|---|---|---|\n");
      const rows = (table.split("\n\n", 1)[0] ?? "").split("\n").filter(Boolean);
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

  it("has a test to copy for each promise that a service rests on", () => {
    const guide = readFileSync(join(root, "testing/docs/testing-your-service.md"), "utf8");
    const [table = "", ...tests] = guide.split("\n## Tests to copy\n")[1]?.split("\n### ") ?? [];
    const titles = new Map(tests.map((one) => [one.split("\n", 1)[0] ?? "", one]));
    const anchors = new Map(
      [...titles.keys()].map((title) => [
        title
          .toLowerCase()
          .replace(/[^a-z0-9 -]/g, "")
          .replaceAll(" ", "-"),
        title,
      ]),
    );
    const rows = [...table.matchAll(/^\| (\d+)\. .* \| (.+) \|$/gm)];
    const wanted = sections.map((_, index) => index + 1);
    expect(rows.map(([, number]) => Number(number))).to.deep.equal(wanted);
    const linked = rows.flatMap(([, , links]) => [...String(links).matchAll(/\(#([^)]+)\)/g)]);
    expect(linked.map(([, anchor]) => anchors.get(String(anchor)))).to.have.members([...titles.keys()]);
    for (const [title, text] of titles) expect(text, title).to.match(/^(?:await )?assert\./m);
  });

  it("is completed by test/README.md with the counts of every test that counts", () => {
    const counts = readFileSync(join(root, "test/README.md"), "utf8");
    const directory = join(root, "test/fault");
    const counting = readdirSync(directory).filter((name) =>
      readFileSync(join(directory, name), "utf8").includes("countInjections("),
    );
    expect(counting.length).to.be.greaterThan(8);
    for (const name of counting) expect(counts).to.match(new RegExp(`\\(fault/${name}\\).*\\| [\\d,]+`));
  });
});
