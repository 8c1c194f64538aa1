/**
 * Prints the entry of CHANGELOG.md for a tag: `node scripts/release-notes.mjs v6.0.0`. Refuses a tag that is not the
 * version of package.json, a version without an entry, and lines that were not merged into it.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "./run-command.mjs";

const [tag = ""] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
const sections = readFileSync(join(checkout, "CHANGELOG.md"), "utf8").split(/^(?=## )/m);
const entry = sections.find((section) => section.startsWith(`## ${version}`));
const unreleased = sections.find((section) => section.startsWith("## Unreleased")) ?? "";

if (tag !== `v${version}`) fail(`the tag is ${tag || "missing"}, package.json says ${version}`);
else if (entry === undefined) fail(`CHANGELOG.md has no entry for ${version}`);
else if (/not released/.test(entry.split("\n", 1)[0]))
  fail(`CHANGELOG.md says that ${version} is not released`);
else if (/^- /m.test(unreleased)) fail("CHANGELOG.md has lines under Unreleased: fold them into the entry");
else process.stdout.write(entry.split("\n").slice(1).join("\n").trim().concat("\n"));

function fail(reason) {
  console.error(`no release: ${reason}`);
  process.exitCode = 1;
}
