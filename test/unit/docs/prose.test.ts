/** Every page and comment keeps the rules of scripts/prose: a reader whose English is weak understands each sentence. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { type Finding, lintComments, lintPage } from "../../../scripts/prose/lint";
import { checkoutDirectory } from "../../../scripts/servers/cache-directory";

const root = checkoutDirectory();
/** The share of comment lines with a finding: a rule that reads no grammar has false alarms. */
const MOST_COMMENT_LINES = 0.005;
function filesIn(directory: string, ending: string): string[] {
  return readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending) && !name.includes("generated"))
    .map((name) => join(directory, name));
}

function shown(findings: readonly Finding[]): string {
  return findings.map(({ path, line, message }) => `${path}:${line} ${message}`).join("\n");
}

describe("prose", function () {
  this.timeout(60_000);

  const pages = [
    "README.md",
    "CHANGELOG.md",
    "AGENTS.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "testing/README.md",
    "migrate/README.md",
    "site/landing.md",
    ...filesIn("docs", ".md"),
    ...filesIn("testing/docs", ".md"),
  ];
  for (const page of pages.filter((name) => !name.includes("decisions"))) {
    it(page, async () => {
      expect(shown(await lintPage(page))).to.equal("");
    });
  }

  it("comments of the sources and examples", async () => {
    let lines = 0;
    const findings: Finding[] = [];
    const examples = [...filesIn("examples", ".js"), ...filesIn("examples", ".mjs")];
    for (const path of [...filesIn("src", ".ts"), ...filesIn("testing/src", ".ts"), ...examples]) {
      const found = await lintComments(path);
      lines += found.lines;
      findings.push(...found.findings);
    }
    const faulty = new Set(findings.map(({ path, line }) => `${path}:${line}`)).size;
    expect(faulty / lines, shown(findings)).to.be.at.most(MOST_COMMENT_LINES);
  });

  it("finds a sentence without a subject, a long one and an idiom", async () => {
    const { findings } = await lintComments("test/unit/docs/prose-samples.ts");
    expect(findings.map(({ line }) => line)).to.deep.equal([1, 2, 1]);
  });
});
