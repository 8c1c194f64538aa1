/**
 * Fills the address of the repository into the manifests of all packages: `node scripts/before-publishing.mjs fill`, a
 * step of the release, which takes the address from GITHUB_REPOSITORY. Without `fill` it refuses to publish
 * while the placeholder is still in package.json, which is its only place, or while a page says that the package is
 * not released.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "./run-command.mjs";

const PLACEHOLDER = "OWNER/sluice";
const PACKAGES = ["", "testing", "migrate"];
/** Pages with sentences that are wrong after the release. */
const PAGES = [
  "README.md",
  "docs/getting-started.md",
  "site/landing.md",
  "site/.vitepress/config.mts",
  "testing/README.md",
];
const UNRELEASED = /not on npm yet|\(not released\)/;

function read(directory) {
  return JSON.parse(readFileSync(join(checkout, directory, "package.json"), "utf8"));
}

function fill(name) {
  if (!/^[\w.-]+\/[\w.-]+$/.test(name))
    throw new Error(`GITHUB_REPOSITORY has to be owner/name, not "${name}"`);
  const address = `https://github.com/${name}`;
  for (const directory of PACKAGES) {
    const manifest = read(directory);
    manifest.homepage = `${address}${directory === "" ? "" : `/tree/main/${directory}`}#readme`;
    manifest.bugs = { url: `${address}/issues` };
    manifest.repository = {
      type: "git",
      url: `git+${address}.git`,
      ...(directory === "" ? {} : { directory }),
    };
    writeFileSync(join(checkout, directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  }
}

if (process.argv[2] === "fill") {
  fill(process.env.GITHUB_REPOSITORY ?? "");
} else {
  const refusals = PAGES.filter((page) => UNRELEASED.test(readFileSync(join(checkout, page), "utf8"))).map(
    (page) => `${page} says that the package is not released: give the command of npm instead`,
  );
  if (read("").repository.url.includes(PLACEHOLDER))
    refusals.push(
      "package.json names no repository yet: run GITHUB_REPOSITORY=owner/name node scripts/before-publishing.mjs fill",
    );
  for (const refusal of refusals) console.error(refusal);
  if (refusals.length > 0) process.exitCode = 1;
}
