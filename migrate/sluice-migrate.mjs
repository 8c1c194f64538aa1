#!/usr/bin/env node
/**
 * Moves a project from ioredis or node-redis to this package. Prints what it would do; `--write` does it.
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

const own = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const HELP = `sluice-migrate [folder] [options]

Finds the use of ioredis and node-redis in a project and says what has to change. Nothing is written without --write.

  --write              write the changes
  --spec SPEC          what package.json gets: a version, or file:./sluice-${own.version}.tgz (default ^${own.version})
  --manager NAME       npm, pnpm, yarn or bun (default: by the lock file)
  --source FOLDER      reads and writes sources in this folder or file only; may be given several times (default: all
                       sources of the project but those that git ignores)
  --json               the plan as JSON
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
  const version = `^${own.version}`;
  planAlias(project, values.spec, version, plan);
  findIoredisUse(project, plan);
  await planNodeRedis(project, values.spec, version, plan);
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
