/** Pages that are made from the tests and from the error classes are fresh, and have what links lead to. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { compatibilityPage } from "../../../scripts/compatibility-docs/generate";
import { errorEntries } from "../../../scripts/errors-docs/generate";
import { troubleshootingPage } from "../../../scripts/errors-docs/troubleshooting";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

function page(name: string): string {
  return readFileSync(join(checkoutDirectory(), "docs", name), "utf8");
}

describe("generated pages", () => {
  it("docs/troubleshooting.md is fresh (npm run generate)", () => {
    expect(page("troubleshooting.md")).to.equal(troubleshootingPage());
  });

  it("docs/compatible.md is fresh (npm run generate)", () => {
    expect(page("compatible.md")).to.equal(compatibilityPage());
  });

  it("every code that users see has an anchor, and its advice", () => {
    const text = page("troubleshooting.md");
    const entries = errorEntries().filter(({ section }) => section !== "");
    expect(entries.length).to.be.greaterThan(20);
    expect(entries.filter(({ code }) => !text.includes(`<a id="${code}"></a>`))).to.deep.equal([]);
    expect(entries.filter(({ className }) => !text.includes(`**${className}**`))).to.deep.equal([]);
  });
});
