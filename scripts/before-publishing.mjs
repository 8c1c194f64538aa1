/**
 * Stops `npm publish` while package.json still has the placeholder of its owner (author, homepage, repository, bugs),
 * which stands nowhere else: links of the package page and the provenance of the release follow from these fields.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "./run-command.mjs";

const manifest = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
const open = ["author", "homepage", "repository", "bugs"].filter((field) =>
  /\bOWNER\b/.test(JSON.stringify(manifest[field] ?? "OWNER")),
);
if (open.length > 0) {
  console.error(
    `package.json names no owner yet: put the account in the place of OWNER in ${open.join(", ")}`,
  );
  process.exitCode = 1;
}
