#!/usr/bin/env node
/**
 * Moves a project from ioredis or node-redis to sluice. Prints the changes; `--write` makes them.
 *
 *   sluice-migrate [folder] [--write] [--spec SPEC] [--manager npm|pnpm|yarn|bun] [--source FOLDER] [--json]
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { planAlias } from "./src/alias.mjs";
import { findIoredisUse } from "./src/ioredis-use.mjs";
import { planNodeRedis } from "./src/node-redis-use.mjs";
import { readProject } from "./src/project.mjs";
import { report, write } from "./src/report.mjs";
import { installable } from "./src/specifier.mjs";

const own = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const HELP = `sluice-migrate [folder] [options]

Finds the use of ioredis and node-redis in a project, and shows the changes. It writes nothing without --write.

  --write              write the changes
  --spec SPEC          the version or address of sluice for package.json (default: sluice-${own.version}.tgz in the folder
                       of the project, else the version on the registry)
  --manager NAME       npm, pnpm, yarn or bun (default: by the lock file)
  --source FOLDER      read and write sources in this folder or file only; may be repeated (default: all sources of the
                       project except those that git ignores)
  --json               print the plan as JSON
  --help`;

function readArguments() {
  const options = {
    write: { type: "boolean", default: false },
    spec: { type: "string" },
    manager: { type: "string" },
    source: { type: "string", multiple: true },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  };
  return parseArgs({ options, allowPositionals: true });
}

async function main() {
  const { values, positionals } = readArguments();
  if (values.help) {
    console.log(HELP);
    return;
  }
  const project = readProject(resolve(positionals[0] ?? "."), values.manager, values.source);
  const plan = { edits: [], removals: [], notes: [] };
  const available = () => installable(project, own);
  planAlias(project, values.spec, available, plan);
  findIoredisUse(project, plan);
  await planNodeRedis(project, values.spec, available, plan);
  if (values.write) write(project, plan);
  if (values.json) console.log(JSON.stringify(plan, null, 2));
  else report(project, plan, values.write);
}

try {
  await main();
} catch (error) {
  console.error(`sluice-migrate: ${error.message}`);
  process.exitCode = 1;
}
