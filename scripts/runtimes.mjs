/**
 * The packed package under runtimes that are not Node: their binaries come from the registry and
 * are kept in the cache directory. Only the long test run needs them.
 */

import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pack } from "./consumers.mjs";
import { checkout, mustRun, npm, run, toolPath } from "./run-command.mjs";

const RUNTIMES = {
  Bun: { from: "bun@1", words: ["bun"] },
  Deno: { from: "deno@2", words: ["deno", "run", "--allow-all"] },
};
const QUIET = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
const TIMEOUT_MS = 60_000;

/** The directory with the runtimes and the present build. */
async function prepare() {
  const directory = join(process.env.SLUICE_CACHE ?? join(checkout, ".cache"), "runtimes");
  mkdirSync(directory, { recursive: true });
  const packages = Object.values(RUNTIMES).map(({ from }) => from);
  await mustRun(npm, ["install", "--prefix", directory, ...QUIET, ...packages, pack(directory)]);
  copyFileSync(join(checkout, "test", "runtimes", "client.test.mjs"), join(directory, "client.test.mjs"));
  return directory;
}

/**
 * Runs the tests under each; their counts by name.
 * @returns {AsyncGenerator<[name: string, counts: { passed: number, failed: number, skipped: number }]>}
 */
export async function* runUnderRuntimes() {
  const { findServer, ServerKind } = await import("../build/scripts/servers/find-server.js");
  const { ServerProcess } = await import("../build/scripts/servers/server-process.js");
  const directory = await prepare();
  const countsPath = join(directory, "counts.json");
  const reporter = join(checkout, "build", "test", "support", "counting-reporter.js");
  // Instead of that of the checkout, which has options of Node.
  const config = join(directory, "mocharc.json");
  writeFileSync(config, "{}");
  const options = ["--config", config, "--timeout", "60000", "--reporter", reporter];
  const server = await ServerProcess.start({ binary: await findServer(ServerKind.Redis) });
  const env = { SLUICE_COUNTS: countsPath, REDIS_HOST: server.host, REDIS_PORT: String(server.port) };
  try {
    for (const [name, { words }] of Object.entries(RUNTIMES)) {
      rmSync(countsPath, { force: true });
      console.log(`\nruntime ${name}`);
      const [binary, ...rest] = words;
      const mocha = [toolPath("mocha", "mocha"), ...options, join(directory, "client.test.mjs")];
      const program = join(directory, "node_modules", ".bin", binary);
      const code = await run(program, [...rest, ...mocha], { cwd: directory, env, timeoutMs: TIMEOUT_MS });
      const counts = existsSync(countsPath) ? JSON.parse(readFileSync(countsPath, "utf8")) : null;
      const isCounted = counts !== null && (code === 0 || counts.failed > 0);
      yield [name, isCounted ? counts : { passed: 0, failed: 1, skipped: 0 }];
    }
  } finally {
    await server.stop();
  }
}
