/**
 * The table of fates: how each command ends, or where it is sent again, for every event. `fates.tsv` was recorded before the
 * rules moved into one module; a row that changes is a change of behaviour and needs a line in the changelog.
 * `SLUICE_RECORD=1` writes the table anew.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../../../scripts/servers/cache-directory";
import { endAll, fateCases } from "./cases";
import { endExamples, rules } from "./rules";

const TABLE = join(checkoutDirectory(), "test", "unit", "command", "fates", "fates.tsv");
const PAGE = join(checkoutDirectory(), "docs", "architecture.md");
const IN_PAGE = /(<!-- written by the test of fates -->\n)[\s\S]*?(<!-- end of fates -->)/;

describe("fates of commands", () => {
  afterEach(() => {
    endAll();
    endExamples();
  });

  it("are those of the table, row by row", () => {
    const rows = [...fateCases()].map(({ event, facts, outcome }) => `${event}\t${facts}\t${outcome}`);
    if (process.env["SLUICE_RECORD"] !== undefined) writeFileSync(TABLE, `${rows.join("\n")}\n`);
    const recorded = readFileSync(TABLE, "utf8").trimEnd().split("\n");
    expect(rows.filter((row, index) => row !== recorded[index])).to.deep.equal([]);
    expect(rows.length).to.equal(recorded.length);
  });

  it("are in docs/architecture.md, one example for each rule, in the order of evaluation", () => {
    const rows = [...rules()].map(({ event, command, fate }) => `| ${event} | ${command} | ${fate} |`);
    const table = ["| event | command | fate |", "|---|---|---|", ...rows].join("\n");
    if (process.env["SLUICE_RECORD"] !== undefined) {
      const page = readFileSync(PAGE, "utf8").replace(
        IN_PAGE,
        (_, before, after) => `${before}\n${table}\n\n${after}`,
      );
      writeFileSync(PAGE, page);
    }
    expect(readFileSync(PAGE, "utf8").match(IN_PAGE)?.[0]).to.contain(table);
  });
});
