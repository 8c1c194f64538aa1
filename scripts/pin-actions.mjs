/**
 * Replaces the tags of GitHub actions in .github/workflows by the full hashes of their commits, with the tag in a comment:
 * `node scripts/pin-actions.mjs`. Dependabot then updates both. It asks the repositories of the actions with
 * `git ls-remote`, so it needs access to them. `--check` changes nothing and fails while an action is not pinned; the
 * release runs that.
 */

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "./run-command.mjs";

const folder = join(checkout, ".github", "workflows");
/** `uses: owner/repository/path@tag`; a hash of 40 digits is pinned. */
const USE =
  /(?<before>\buses: (?<action>[\w.-]+\/[\w.-]+)(?:\/[\w./-]+)?@)(?!(?:[0-9a-f]{40})\b)(?<tag>[\w.-]+)[^\n]*/g;
const hashes = new Map();

/** The commit of a tag; of the tag object it points to, if it is an annotated one. */
function hashOf(action, tag) {
  const key = `${action}@${tag}`;
  if (!hashes.has(key)) {
    const url = `https://github.com/${action}`;
    const refs = [`refs/tags/${tag}`, `refs/tags/${tag}^{}`];
    const lines = execFileSync("git", ["ls-remote", url, ...refs], { encoding: "utf8" })
      .trim()
      .split("\n");
    const hash = lines.at(-1)?.split("\t")[0];
    if (!/^[0-9a-f]{40}$/.test(hash ?? "")) throw new Error(`${url} has no tag ${tag}`);
    hashes.set(key, hash);
  }
  return hashes.get(key);
}

const isCheck = process.argv.includes("--check");
const open = [];
for (const name of readdirSync(folder)) {
  const path = join(folder, name);
  const text = readFileSync(path, "utf8");
  for (const { groups } of text.matchAll(USE)) open.push(`${name}: ${groups.action}@${groups.tag}`);
  if (isCheck) continue;
  writeFileSync(
    path,
    text.replaceAll(USE, (...match) => {
      const { before, action, tag } = match.at(-1);
      return `${before}${hashOf(action, tag)} # ${tag}`;
    }),
  );
}
if (isCheck && open.length > 0) {
  console.error(`Not pinned by a hash, run node scripts/pin-actions.mjs:\n  ${open.join("\n  ")}`);
  process.exitCode = 1;
}
