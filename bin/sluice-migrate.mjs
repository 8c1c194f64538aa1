#!/usr/bin/env node
/**
 * Moves a project from ioredis or node-redis to this package. Prints what it would do; `--write` does it.
 *
 *   sluice-migrate [folder] [--write] [--spec SPEC] [--manager npm|pnpm|yarn|bun] [--json]
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { planAlias } from "./migrate/alias.mjs";
import { findIoredisUse } from "./migrate/ioredis-use.mjs";
import { planNodeRedis } from "./migrate/node-redis-use.mjs";
import { readProject } from "./migrate/project.mjs";
import { report, write } from "./migrate/report.mjs";

const own = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const HELP = `sluice-migrate [folder] [options]

Finds the use of ioredis and node-redis in a project and says what has to change. Nothing is written without --write.

  --write              write the changes
  --spec SPEC          what package.json gets: a version, or file:./sluice-${own.version}.tgz (default ^${own.version})
  --manager NAME       npm, pnpm, yarn or bun (default: by the lock file)
  --json               the plan as JSON
  --help`;

function readArguments() {
  const options = {
    write: { type: "boolean", default: false },
    spec: { type: "string" },
    manager: { type: "string" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  };
  return parseArgs({ options, allowPositionals: true });
}

function main() {
  const { values, positionals } = readArguments();
  if (values.help) {
    console.log(HELP);
    return;
  }
  const project = readProject(resolve(positionals[0] ?? "."), values.manager);
  const plan = { edits: [], removals: [], notes: [] };
  const version = `^${own.version}`;
  planAlias(project, values.spec, version, plan);
  findIoredisUse(project, plan);
  planNodeRedis(project, values.spec, version, plan);
  if (values.write) write(project, plan);
  if (values.json) console.log(JSON.stringify(plan, null, 2));
  else report(project, plan, values.write);
}

try {
  main();
} catch (error) {
  console.error(`sluice-migrate: ${error.message}`);
  process.exitCode = 1;
}
