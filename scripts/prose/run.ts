/** Prints what the prose check finds: `npm run prose`, with names of pages or folders behind `--` for a part of it. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { checkoutDirectory } from "../servers/cache-directory";
import { type Finding, lintComments, lintPage } from "./lint";

const root = checkoutDirectory();
const chosen = process.argv.slice(2);

function filesOf(path: string): string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path), { recursive: true, encoding: "utf8" })
    .map((name) => join(path, name))
    .filter((name) => /\.(?:md|ts)$/.test(name) && !name.includes("generated"));
}

async function main(): Promise<void> {
  const findings: Finding[] = [];
  let lines = 0;
  let inComments = 0;
  for (const path of (chosen.length > 0 ? chosen : ["README.md", "CHANGELOG.md", "docs", "src"]).flatMap(
    filesOf,
  )) {
    if (path.endsWith(".md")) {
      findings.push(...(await lintPage(path)));
      continue;
    }
    const found = await lintComments(path);
    findings.push(...found.findings);
    lines += found.lines;
    inComments += new Set(found.findings.map(({ line }) => line)).size;
  }
  for (const { path, line, message } of findings) console.log(`${path}:${line} ${message}`);
  const share = lines === 0 ? 0 : (100 * inComments) / lines;
  console.log(`${findings.length} findings; ${share.toFixed(1)} % of ${lines} comment lines`);
}

void main();
