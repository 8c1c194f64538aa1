/**
 * One program (test/runtimes/program.mjs) on the packed package under every runtime: Node, worker threads, Bun, Deno and
 * Cloudflare Workers. The long test run does this, and so does `npm run runtimes`, which also runs the peers
 * that have the same API and writes the tables of docs/platforms.md. The runtimes are kept in the cache directory.
 * `npm run runtimes -- --sizes` writes only the table of bundles.
 */

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { measureBundles } from "./bundle-sizes.mjs";
import { pack } from "./consumers.mjs";
import { nodeBinary } from "./node-versions.mjs";
import { checkout, ensureInstalled, mustRun, npm } from "./run-command.mjs";

const execute = promisify(execFile);

const NODE_VERSIONS = ["20", "22", "24", "26"];
const THREADS_VERSION = "24";
/** Peers with the same API, in the versions of package.json. */
const PEERS = ["ioredis", "iovalkey"];
const RUNTIMES = { bun: "1", deno: "2" };
const QUIET = ["--no-audit", "--no-fund", "--loglevel=error"];
/** Above the time limits of all areas together. */
const TIMEOUT_MS = 300_000;
/** Above the idle time after which the client checks a connection. */
const FREEZE_MS = 11_000;
const page = join(checkout, "docs", "platforms.md");

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

/** The directory with the runtimes, the present build and its peers. */
async function prepare() {
  const directory = join(process.env.SLUICE_CACHE ?? join(checkout, ".cache"), "runtimes");
  mkdirSync(directory, { recursive: true });
  const { devDependencies } = readJson(join(checkout, "package.json"));
  const peers = Object.fromEntries(PEERS.map((name) => [name, devDependencies[name]]));
  const dependencies = { ...RUNTIMES, ...peers, sluice: `file:${pack(directory)}` };
  // Deno finds the packages that a manifest names.
  writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true, dependencies }));
  // The tarball of an earlier run has the same name.
  rmSync(join(directory, "package-lock.json"), { force: true });
  await mustRun(npm, ["install", "--prefix", directory, ...QUIET]);
  cpSync(join(checkout, "test", "runtimes"), join(directory, "program"), { recursive: true });
  return directory;
}

/** The servers that the program uses: a plain one, one with TLS, and a cluster. The freezer stops its process. */
async function startServers() {
  const { findServer, ServerKind } = await import("../build/scripts/servers/find-server.js");
  const { ServerProcess } = await import("../build/scripts/servers/server-process.js");
  const { ServerCluster } = await import("../build/scripts/servers/server-cluster.js");
  const { Freezer } = await import("../build/scripts/servers/freezer.js");
  const { Certificates } = await import("../build/scripts/servers/certificates.js");
  const binary = await findServer(ServerKind.Redis);
  const certificates = new Certificates();
  const config = { "tls-auth-clients": "no" };
  const [plain, secure, cluster] = await Promise.all([
    ServerProcess.start({ binary }),
    ServerProcess.start({ binary, tls: certificates, config }),
    ServerCluster.start({ binary, replicasPerMaster: 0 }),
  ]);
  const authority = String(certificates.authority);
  const address = { host: plain.host, port: plain.port };
  const freezer = await Freezer.start(address, FREEZE_MS);
  return {
    authority,
    address,
    tls: { host: "localhost", port: secure.port, tls: { ca: authority } },
    nodes: cluster.seeds,
    freezer,
    stop: () => Promise.all([freezer, plain, secure, cluster].map((one) => one.stop())),
  };
}

/** Runs the program as a process; `words` start the runtime. */
async function tryProcess(directory, [program, ...words], client, servers, env = {}) {
  const { address, tls, nodes, freezer } = servers;
  const surroundings = JSON.stringify({ address, tls, nodes, freezer: freezer.surroundings });
  const options = {
    cwd: directory,
    env: { ...process.env, NO_COLOR: "1", CLIENT: client, SURROUNDINGS: surroundings, ...env },
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  };
  const { stdout } = await execute(program, [...words, join("program", "process.mjs")], options);
  return JSON.parse(stdout.trim().split("\n").at(-1));
}

/** Runs the program on Workers. Their runtime, not the program, knows which authorities it trusts. */
async function tryWorkers(directory, client, { authority, address, tls, nodes, freezer }) {
  const { Workers } = await import("../build/scripts/servers/workers.js");
  const surroundings = JSON.stringify({
    address,
    tls: { ...tls, tls: {} },
    nodes,
    freezer: freezer.surroundings,
  });
  const workers = await Workers.start({
    entry: join(directory, "program", "worker.mjs"),
    alias: client === "sluice" ? {} : { sluice: client },
    env: { SURROUNDINGS: surroundings },
    authority,
  });
  try {
    return await (await workers.fetch(`/${workers.pid}`)).json();
  } finally {
    await workers.stop();
  }
}

/** Every runtime by its title: a function that gives the results of a client. */
async function runtimesIn(directory, servers) {
  const binary = (name) => join(directory, "node_modules", ".bin", name);
  const versionOf = (name) => readJson(join(directory, "node_modules", name, "package.json")).version;
  const runtimes = {};
  for (const version of NODE_VERSIONS) {
    const node = await nodeBinary(version);
    runtimes[`Node ${version}`] = (client) => tryProcess(directory, [node], client, servers);
  }
  const node = await nodeBinary(THREADS_VERSION);
  runtimes["worker thread"] = (client) => tryProcess(directory, [node], client, servers, { IN_THREAD: "1" });
  runtimes[`Bun ${versionOf("bun")}`] = (client) => tryProcess(directory, [binary("bun")], client, servers);
  const deno = [binary("deno"), "run", "--allow-all"];
  runtimes[`Deno ${versionOf("deno")}`] = (client) => tryProcess(directory, deno, client, servers);
  runtimes["Workers"] = (client) => tryWorkers(directory, client, servers);
  return runtimes;
}

/** A runtime in which the program does not begin has the message in every area. */
async function resultsOf(attempt, areas) {
  try {
    return await attempt();
  } catch (error) {
    const message = String(error.stderr || error.message)
      .trim()
      .split("\n")
      .at(-1);
    return Object.fromEntries(areas.map((area) => [area, message]));
  }
}

/**
 * Runs the program under each runtime; the results by runtime and client: null for an area that works, otherwise
 * the message.
 *
 * @param {readonly string[]} clients
 * @returns {AsyncGenerator<[runtime: string, client: string, results: Record<string, string | null>]>}
 */
async function* tryRuntimes(clients) {
  const { COMMON_AREAS } = await import("../test/runtimes/program.mjs");
  const directory = await prepare();
  const servers = await startServers();
  try {
    for (const [title, attempt] of Object.entries(await runtimesIn(directory, servers))) {
      for (const client of clients)
        yield [title, client, await resultsOf(() => attempt(client), COMMON_AREAS)];
    }
  } finally {
    await servers.stop();
  }
}

function tell(runtime, client, results) {
  console.log(`\n${runtime}, ${client}`);
  for (const [area, message] of Object.entries(results)) {
    console.log(`  ${area.padEnd(18)} ${message ?? "works"}`);
  }
}

/**
 * Runs the program of every runtime; its counts by name.
 * @returns {AsyncGenerator<[name: string, counts: { passed: number, failed: number, skipped: number }]>}
 */
export async function* runUnderRuntimes() {
  for await (const [runtime, client, results] of tryRuntimes(["sluice"])) {
    tell(runtime, client, results);
    const messages = Object.values(results);
    const failed = messages.filter((message) => message !== null).length;
    yield [runtime, { passed: messages.length - failed, failed, skipped: 0 }];
  }
}

function table(head, rows) {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

/** Puts `text` between the two comments of the page that name it. */
function replacePart(name, text) {
  const begin = `<!-- ${name}, written by npm run runtimes -->\n`;
  const end = `\n<!-- end of ${name} -->`;
  const before = readFileSync(page, "utf8");
  const from = before.indexOf(begin) + begin.length;
  writeFileSync(page, before.slice(0, from) + text + before.slice(before.indexOf(end, from)));
}

function writeTables(found) {
  const runtimes = Object.keys(found);
  const areas = Object.keys(found[runtimes[0]]["sluice"]);
  const common = Object.keys(found[runtimes[0]][PEERS[0]]);
  const worksIn = (runtime, client, area) => found[runtime][client][area] === null;
  replacePart(
    "areas",
    table(
      ["area", ...runtimes],
      areas.map((area) => [area, ...runtimes.map((one) => (worksIn(one, "sluice", area) ? "yes" : "no"))]),
    ),
  );
  const countOf = (runtime, client) => common.filter((area) => worksIn(runtime, client, area)).length;
  replacePart(
    "peers",
    table(
      ["client", ...runtimes],
      ["sluice", ...PEERS].map((client) => [
        client,
        ...runtimes.map((one) => `${countOf(one, client)} of ${common.length}`),
      ]),
    ),
  );
}

async function writeSizes() {
  const head = [
    "program",
    "minified, kB",
    "minified and compressed, kB",
    "CPU time of loading, ms",
    "installed, MB",
  ];
  replacePart("sizes", table(head, await measureBundles()));
}

async function main() {
  await ensureInstalled();
  await mustRun(process.execPath, [join("scripts", "build.mjs")]);
  await writeSizes();
  if (process.argv.includes("--sizes")) return;
  const { compile } = await import("./compile.mjs");
  await compile();
  const found = {};
  let hasFailed = false;
  for await (const [runtime, client, results] of tryRuntimes(["sluice", ...PEERS])) {
    tell(runtime, client, results);
    found[runtime] = { ...found[runtime], [client]: results };
    hasFailed ||= client === "sluice" && Object.values(results).some((message) => message !== null);
  }
  writeTables(found);
  process.exitCode = hasFailed ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  await main();
}
