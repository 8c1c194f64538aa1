/**
 * Published packages on top of this client: packs the package, installs it together with what
 * test/consumers/package.json names (every request for the original is answered by the packed
 * tarball) and runs each program of test/consumers/programs in a process of its own. The install
 * is kept in .cache under a key made of the manifest and the lock file.
 *
 *   node scripts/consumers.mjs [--original] [--server=KIND] [word ...]   programs whose names contain a word
 *   node scripts/consumers.mjs --lock                    makes the lock file anew
 *
 * `--original` runs them on the published original instead: a program must hold there too. KIND is `redis`, `redis-8`,
 * `valkey` or `test`, the project's own test server.
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { checkout, commandOf, ensureInstalled, mustRun, npm, run, toolPath } from "./run-command.mjs";

const home = join(checkout, "test", "consumers");
const programs = join(home, "programs");
const LABEL = "sluice.tgz";
/** The packages in whose place the tarball is installed, with the versions of the originals. */
const ORIGINALS = { ioredis: "6.0.0", iovalkey: "0.4.0" };
/** A cluster of processes, which the test server is not. */
const NEEDS_PROCESSES = /-cluster\./;
/** Packages that programs use without a client: frameworks, and hosts of plug-ins. */
const BYSTANDERS = new Set([
  ...["@hapi/catbox", "@nestjs/common", "@nestjs/core", "@nestjs/throttler", "@opentelemetry/api"],
  ...["@opentelemetry/instrumentation", "@opentelemetry/sdk-trace-base", "@opentelemetry/sdk-trace-node"],
  ...["aedes", "cache-manager", "express", "express-rate-limit", "express-session", "fastify", "graphql"],
  ...["ioredis", "ioredis-mock", "keyv", "redlock-5", "reflect-metadata", "rxjs", "socket.io"],
  ...["socket.io-client", "sql.js", "undici"],
]);
const PROGRAM_TIMEOUT_MS = 45_000;
const TEST_TIMEOUT_MS = 20_000;
const QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];

function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Packs what was built last; the tarball's path. */
export function pack(directory) {
  const options = ["pack", "--json", "--ignore-scripts", "--loglevel=error", "--pack-destination", directory];
  const [file, ...first] = commandOf(npm);
  const [packed] = JSON.parse(
    execFileSync(file, [...first, ...options], { cwd: checkout, encoding: "utf8" }),
  );
  const path = join(directory, LABEL);
  renameSync(join(directory, packed.filename), path);
  return path;
}

/** The lock file without what changes with every build and without addresses. */
function writeLock(directory) {
  const lock = readJson(join(directory, "package-lock.json"));
  for (const entry of Object.values(lock.packages)) {
    if (entry.resolved?.startsWith("file:")) delete entry.integrity;
    else delete entry.resolved;
  }
  writeJson(join(home, "package-lock.json"), lock);
}

async function install(directory, isOriginal) {
  const manifest = readJson(join(home, "package.json"));
  if (isOriginal) {
    manifest.dependencies.ioredis = ORIGINALS.ioredis;
    manifest.overrides.iovalkey = ORIGINALS.iovalkey;
  }
  writeJson(join(directory, "package.json"), manifest);
  if (!isOriginal) cpSync(join(home, "package-lock.json"), join(directory, "package-lock.json"));
  // Not `npm ci`: it refuses a lock file in which a binary for some other system is missing.
  if ((await run(npm, ["install", "--no-save", ...QUIET], { cwd: directory })) !== 0) {
    throw new Error("The packages could not be installed");
  }
}

/** Puts the present build in the place of the one that was installed. */
function refresh(directory, tarball) {
  for (const name of Object.keys(ORIGINALS)) {
    const target = join(directory, "node_modules", name);
    rmSync(join(target, "built"), { recursive: true });
    execFileSync("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"]);
  }
}

/** No package may have brought a client of its own along: it would be tested instead. */
function assertNoOriginal(directory) {
  const paths = readdirSync(join(directory, "node_modules"), { recursive: true, encoding: "utf8" });
  for (const path of paths) {
    if (!(basename(path) in ORIGINALS)) continue;
    const manifestPath = join(directory, "node_modules", path, "package.json");
    if (!existsSync(manifestPath)) continue;
    if (readJson(manifestPath).name !== "sluice") throw new Error(`The original is at ${path} as well`);
  }
}

/**
 * The directory in which the packages are installed with the present build.
 * @param {boolean} isOriginal
 * @returns {Promise<string>}
 */
async function prepare(isOriginal) {
  const { dependencies } = readJson(join(checkout, "package.json"));
  const hash = createHash("sha256").update(JSON.stringify(dependencies));
  for (const name of ["package.json", "package-lock.json"]) hash.update(readFileSync(join(home, name)));
  const key = hash.digest("hex").slice(0, 16);
  const kept = process.env.SLUICE_CACHE ?? join(checkout, ".cache");
  const directory = join(kept, "consumers", isOriginal ? `${key}-original` : key);
  const isKept = existsSync(join(directory, "installed"));
  if (!isKept) rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const tarball = pack(directory);
  if (!isKept) {
    console.log("Installing the packages ...");
    await install(directory, isOriginal);
    if (!isOriginal) assertNoOriginal(directory);
    writeFileSync(join(directory, "installed"), "");
  } else if (!isOriginal) refresh(directory, tarball);
  rmSync(join(directory, "programs"), { recursive: true, force: true });
  cpSync(programs, join(directory, "programs"), { recursive: true });
  return directory;
}

function programNames(words) {
  return readdirSync(programs)
    .filter((name) => /\.test\.[cm]js$/.test(name))
    .filter((name) => words.length === 0 || words.some((word) => name.includes(word)))
    .sort();
}

/** The packages of a program that are given a client, each named once. */
export function packagesOf(name) {
  const text = readFileSync(join(programs, name), "utf8");
  const { dependencies } = readJson(join(home, "package.json"));
  return Object.keys(dependencies).filter(
    (one) => !BYSTANDERS.has(one) && (text.includes(`"${one}"`) || text.includes(`"${one}/`)),
  );
}

async function runProgram(directory, name, server) {
  const countsPath = join(directory, "counts.json");
  rmSync(countsPath, { force: true });
  const reporter = join(checkout, "build", "test", "support", "counting-reporter.js");
  const options = ["--no-config", "--no-package", "--timeout", TEST_TIMEOUT_MS, "--reporter", reporter];
  const mocha = [
    toolPath("mocha", "mocha"),
    ...options,
    "--require",
    join(directory, "programs", "ending.mjs"),
    join("programs", name),
  ];
  const env = {
    SLUICE_COUNTS: countsPath,
    REDIS_HOST: server.host,
    REDIS_PORT: String(server.port),
    REDIS_BINARY: server.binary.path,
    SLUICE_SERVERS_PATH: pathToFileURL(join(checkout, "build", "scripts", "servers")).href,
  };
  const limits = { cwd: directory, env, timeoutMs: PROGRAM_TIMEOUT_MS };
  const code = await run(process.execPath, mocha.map(String), limits);
  const counts = existsSync(countsPath)
    ? readJson(countsPath)
    : { passed: 0, failed: 0, skipped: 0, failures: [] };
  if (code !== 0 && counts.failed === 0) {
    const message = code === null ? "did not end by itself in time" : `ended with code ${code}`;
    console.log(`${name} ${message}`);
    counts.failed = 1;
    counts.failures.push({ title: name, message });
  }
  return counts;
}

async function runAll(directory, names, server) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const failures = [];
  const packages = new Set();
  for (const name of names) {
    await server.command("FLUSHALL");
    const startedAt = performance.now();
    console.log(`\n${name.replace(/\.test\.[cm]js$/, "")}`);
    const counts = await runProgram(directory, name, server);
    for (const key of Object.keys(total)) total[key] += counts[key];
    for (const { title, message } of counts.failures) failures.push({ program: name, title, message });
    if (counts.failed === 0) for (const one of packagesOf(name)) packages.add(one);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`  ${counts.passed} passed, ${counts.failed} failed in ${seconds} s`);
  }
  console.log(`\n${packages.size} published packages passed: ${[...packages].sort().join(", ")}`);
  return { ...total, failures, packages: packages.size };
}

/** The share of the commands that a real server has been sent which the test server supports. */
async function supportedShare(server) {
  const { sentCommands } = await import("../build/scripts/testing-docs/generate.js");
  const { sent, missing } = sentCommands(String(await server.command("INFO", "commandstats")));
  const share = (sent.length - missing.length) / sent.length;
  console.log(
    `${sent.length} commands were sent, ${(share * 100).toFixed(1)} % of them the test server supports`,
  );
  if (missing.length > 0) console.log(`  not supported: ${missing.join(", ")}`);
  return share;
}

/**
 * Runs the programs; the sum of their counts, each failure with its program, how many packages passed, and (on a real
 * server) which share of the commands that were sent the test server supports.
 * @param {{ isOriginal?: boolean, words?: readonly string[], kind?: string }} [choices]
 */
export async function runConsumers(choices = {}) {
  const { isOriginal = false, words = [], kind } = choices;
  const { findServer, ServerKind } = await import("../build/scripts/servers/find-server.js");
  const { ServerProcess } = await import("../build/scripts/servers/server-process.js");
  const directory = await prepare(isOriginal);
  const names = programNames(words).filter((name) => kind !== ServerKind.Test || !NEEDS_PROCESSES.test(name));
  const server = await ServerProcess.start({ binary: await findServer(kind ?? ServerKind.Redis) });
  try {
    if (kind === ServerKind.Test) return await runAll(directory, names, server);
    await server.command("CONFIG", "RESETSTAT");
    const counts = await runAll(directory, names, server);
    return { ...counts, supported: await supportedShare(server) };
  } finally {
    await server.stop();
  }
}

async function makeLock() {
  const directory = mkdtempSync(join(tmpdir(), "sluice-lock-"));
  try {
    cpSync(join(home, "package.json"), join(directory, "package.json"));
    pack(directory);
    await mustRun(npm, ["install", ...QUIET, "--package-lock-only", "--prefix", directory]);
    writeLock(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function main() {
  const words = process.argv.slice(2);
  await ensureInstalled();
  await mustRun(process.execPath, [join("scripts", "build.mjs")]);
  if (words.includes("--lock")) return makeLock();
  const { compile } = await import("./compile.mjs");
  await compile();
  const chosen = words.filter((word) => !word.startsWith("--"));
  const kind = words.find((word) => word.startsWith("--server="))?.slice("--server=".length);
  const isOriginal = words.includes("--original");
  const total = await runConsumers({ isOriginal, words: chosen, ...(kind === undefined ? {} : { kind }) });
  console.log(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}

if (
  process.argv[1] !== undefined &&
  relative(process.argv[1], join(checkout, "scripts", "consumers.mjs")) === ""
) {
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
  await main();
}
