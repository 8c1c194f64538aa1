/**
 * The whole test run: installs, gets servers, builds, lints, type-checks, runs every group of
 * tests, and prints one last line with the counts. Words on the command line name the groups or the
 * test files to run; without any, every group runs. The options are in test-options.mjs.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { basename, join, relative } from "node:path";
import { checkout, ensureInstalled, run, toolPath } from "./run-command.mjs";
import { readOptions } from "./test-options.mjs";

/** The longest first. */
const GROUPS = [
  "fault",
  "cluster",
  "package",
  "integration",
  "consumers",
  "conformance",
  "regressions",
  "unit",
  "examples",
  "sentinel",
  "simulation",
  "testing",
  "types",
];
/** Run again by `--long` on every one of these. */
const NODE_VERSIONS = ["20", "22", "24", "26"];
const GROUPS_FOR_OTHER_NODES = [
  "testing",
  "unit",
  "integration",
  "conformance",
  "fault",
  "sentinel",
  "cluster",
  "package",
];

/** Run again and again by `--long`, each in its short form: a flake shows only so. */
const REPEATED_BY_LONG = [
  { group: "regressions" },
  { group: "sentinel" },
  { group: "fault" },
  { group: "cluster", only: "faults.test.js" },
];
const LONG_REPEATS = 10;
/** The behaviours of the client hold on the project's own test server as well. */
const ON_TEST_SERVER = {
  conformance: { only: "behaviours.test.js", servers: "test" },
  integration: { isChosen: asksForServers, servers: "test", isShort: true },
};
/** The least number of packages that must pass on the test server; see testing/docs/testing-server.md. */
const FEWEST_ON_TEST_SERVER = 30;
/** The least share of the commands of the published packages that the test server must support. */
const LEAST_SUPPORTED = 0.95;
/** More failing suites than this are not caused by other load on the machine. */
const MOST_TRIED_AGAIN = 8;
/** The time limit for all repeated suites together. */
const AGAIN_TIMEOUT_MS = 180_000;
const SLOWEST_SHOWN = 12;

const options = readOptions(process.argv.slice(2), GROUPS);
const { isLong, files: chosenFiles, groups: chosen, repeats } = options;
const rawCoverage = join(checkout, "coverage", "raw");
const groupTimeoutMs = (isLong ? 90 : 12) * 60_000;
/** In the build, and made anew by every run. */
const scratch = join(checkout, "build", "counts");
const total = { passed: 0, failed: 0, skipped: 0 };
const summary = [];
/** Of every group that has run: each test that failed, with its message and how to run it again alone. */
const failures = [];
/** Seconds of every test file, by its group and name. */
const fileSeconds = [];

function slowestFiles() {
  const slowest = fileSeconds.sort((left, right) => right.seconds - left.seconds).slice(0, SLOWEST_SHOWN);
  return slowest.map(({ label, file, seconds }) => `${file} ${seconds.toFixed(0)} s (${label})`);
}

function finish() {
  console.log(`\n${summary.join("\n")}\n`);
  if (fileSeconds.length > 0) console.log(`slowest files:\n  ${slowestFiles().join("\n  ")}\n`);
  for (const { label, title, message } of failures) console.log(`FAILED in ${label}: ${title}\n  ${message}`);
  console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
  process.exit(total.failed === 0 ? 0 : 1);
}

function note(name, counts, startedAt) {
  for (const key of Object.keys(total)) total[key] += counts[key];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(7);
  const { passed, failed, skipped } = counts;
  const line = `${name.padEnd(24)}${seconds} s  ${passed} passed, ${failed} failed, ${skipped} skipped`;
  summary.push(line);
}

/** A check that either holds or does not; it counts as one test. */
async function check(name, program, args) {
  const startedAt = performance.now();
  console.log(`\n${name} ...`);
  const isGood = (await run(program, args)) === 0;
  note(name, { passed: isGood ? 1 : 0, failed: isGood ? 0 : 1, skipped: 0 }, startedAt);
  return isGood;
}

function compiler(project) {
  return [toolPath("typescript", "tsc"), "-p", project];
}

/** Gets a server of every kind. One that cannot be had here fails a CI run and is left out elsewhere. */
async function getServers() {
  const { findServer, REAL_KINDS } = await import("../build/scripts/servers/find-server.js");
  const wanted = process.env.SLUICE_SERVERS?.split(",") ?? REAL_KINDS;
  const found = [];
  console.log("\nServers");
  for (const kind of wanted) {
    try {
      const { product, version, source } = await findServer(kind, console.log);
      console.log(`  ${kind.padEnd(8)} ${product} ${version}, ${source}`);
      found.push(kind);
    } catch (error) {
      console.log(`  ${kind.padEnd(8)} not to be had here: ${error.message}`);
      if (process.env.CI) note(`server ${kind}`, { passed: 0, failed: 1, skipped: 0 }, performance.now());
    }
  }
  if (found.length === 0) {
    note("servers", { passed: 0, failed: 1, skipped: 0 }, performance.now());
    finish();
  }
  process.env.SLUICE_SERVERS = found.join(",");
}

/** Which client the tests run on: unit tests need parts that the package does not show, all others take the package. */
function targetOf(group) {
  // The reporter does not follow a map of many sources: coverage is counted on the compiled modules.
  if (group === "unit" || options.hasDetails) return "source";
  return process.env.SLUICE_TARGET ?? "built";
}

/** The tests of a workspace are in its own folder. */
const FOLDERS = { testing: ["testing", "test"] };
/** These groups open no connection. */
const WITHOUT_SERVERS = ["unit", "types"];

function compiledTests(group) {
  const directory = join(checkout, "build", ...(FOLDERS[group] ?? ["test", group]));
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".test.js"))
    .map((path) => join(directory, path))
    .sort();
}

/** All other files choose their server themselves: on the test server they would do the same again. */
function asksForServers(path) {
  return /\b(?:serverKinds|matrix)\)?\(/.test(readFileSync(path, "utf8"));
}

/** Runs a group, or the one file of it; `isShort` leaves out what only the long run adds. */
async function runMocha(group, label, how = {}) {
  const { node = process.execPath, only, isChosen, isShort = false, isBeside = false, servers } = how;
  const files = compiledTests(group).filter(
    (path) => (only === undefined || path.endsWith(only)) && (isChosen === undefined || isChosen(path)),
  );
  if (files.length === 0) return;
  const startedAt = performance.now();
  if (!isBeside) console.log(`\n${label}`);
  mkdirSync(scratch, { recursive: true });
  const countsPath = join(scratch, `${label.replace(/\W/g, "-")}.json`);
  const env = { SLUICE_COUNTS: countsPath, SLUICE_TARGET: targetOf(group) };
  if (servers !== undefined) env.SLUICE_SERVERS = servers;
  if (isLong) env.SLUICE_LONG = isShort ? "" : "1";
  if (options.hasDetails && node === process.execPath && !isShort) env.NODE_V8_COVERAGE = rawCoverage;
  const reporter = join(checkout, "build", "test", "support", "counting-reporter.js");
  const named = options.grep === undefined ? [] : ["-g", options.grep];
  const mocha = [toolPath("mocha", "mocha"), "--reporter", reporter, ...named, ...files];
  const logPath = isBeside ? countsPath.replace(/json$/, "log") : undefined;
  const code = await run(node, mocha, { env, timeoutMs: groupTimeoutMs, logPath });
  if (logPath !== undefined) console.log(`\n${label}\n${readFileSync(logPath, "utf8").trimEnd()}`);
  const counts = existsSync(countsPath)
    ? JSON.parse(readFileSync(countsPath, "utf8"))
    : { passed: 0, failed: 0, skipped: 0 };
  if (code !== 0 && counts.failed === 0) {
    console.log(`${label} ended with ${code === null ? "a signal (time limit?)" : `code ${code}`}`);
    counts.failed = 1;
  }
  for (const failure of counts.failures ?? []) {
    const { file, suite, title, message } = failure;
    const again =
      isBeside && file !== undefined && suite !== undefined
        ? {
            name: `${relative(join(checkout, "build"), file)}, ${suite}`,
            passes: (timeoutMs) => suitePasses({ group, file, suite, servers }, timeoutMs),
          }
        : undefined;
    failures.push({ label, title, message, again });
  }
  for (const [path, seconds] of Object.entries(counts.seconds ?? {})) {
    fileSeconds.push({ label, file: basename(path, ".js"), seconds });
  }
  note(label, counts, startedAt);
}

/** The failures of groups that ran beside another one, by what is repeated for them: a suite of one file, or a program. */
function failuresBesideOthers() {
  const repeated = new Map();
  for (const failure of failures) {
    if (failure.again === undefined) continue;
    const key = `${failure.label}, ${failure.again.name}`;
    repeated.set(key, [...(repeated.get(key) ?? []), failure]);
  }
  return repeated;
}

/**
 * A test that measures time can fail because the groups beside it took the processor. Each outermost suite,
 * and each program of the published packages, with such a failure has one more run, with the machine to itself, whose
 * result counts; the summary names what failed first.
 */
async function tryAgainAlone() {
  const repeated = failuresBesideOthers();
  if (repeated.size > MOST_TRIED_AGAIN) return;
  const deadlineMs = performance.now() + AGAIN_TIMEOUT_MS;
  for (const [name, failed] of repeated) {
    const timeoutMs = deadlineMs - performance.now();
    if (timeoutMs <= 0) continue;
    console.log(`\n${name}: again, alone`);
    if (!(await failed[0].again.passes(timeoutMs))) continue;
    total.failed -= failed.length;
    total.passed += failed.length;
    for (const failure of failed) {
      failures.splice(failures.indexOf(failure), 1);
      summary.push(`failed beside another group, passed alone: ${failure.title} (${failure.message})`);
    }
  }
}

async function suitePasses({ group, file, suite, servers }, timeoutMs) {
  const env = { SLUICE_COUNTS: join(scratch, "again.json"), SLUICE_TARGET: targetOf(group) };
  if (servers !== undefined) env.SLUICE_SERVERS = servers;
  const reporter = join(checkout, "build", "test", "support", "counting-reporter.js");
  const only = ["--fail-zero", "-g", `^${suite.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}(?: |$)`];
  const mocha = [toolPath("mocha", "mocha"), "--reporter", reporter, ...only, file];
  return (await run(process.execPath, mocha, { env, timeoutMs })) === 0;
}

/** Compile-only tests: each tsconfig of the folder is one. */
async function runTypes() {
  const directory = join("test", "types");
  if (!existsSync(join(checkout, directory))) return;
  const projects = readdirSync(join(checkout, directory), { recursive: true, encoding: "utf8" })
    .filter((path) => /tsconfig[\w.-]*\.json$/.test(path))
    .sort();
  for (const project of projects) {
    await check(`types ${project}`, process.execPath, [...compiler(join(directory, project)), "--noEmit"]);
  }
}

/** Published packages on the packed tarball, on a real server (`--long`: of every kind) and on the test server. */
async function runPackages(isBeside) {
  const kinds = process.env.SLUICE_SERVERS.split(",");
  for (const kind of isLong ? kinds : kinds.slice(0, 1)) await runPackagesOn(kind, isBeside);
  await runPackagesOn("test", isBeside);
}

async function runPackagesOn(kind, isBeside) {
  const { runConsumers } = await import("./consumers.mjs");
  const startedAt = performance.now();
  const label = `consumers, ${kind === "test" ? "test server" : kind}`;
  console.log(`\n${label}`);
  const counts = await runConsumers({ kind }).catch(({ message }) => {
    return { passed: 0, failed: 1, skipped: 0, failures: [{ title: "preparation", message }] };
  });
  for (const { program, title, message } of counts.failures) {
    const passes = async () => (await runConsumers({ kind, words: [program] })).failed === 0;
    failures.push({
      label,
      title,
      message,
      again: isBeside && program !== undefined ? { name: program, passes } : undefined,
    });
  }
  for (const message of shortfallsOf(kind, counts)) {
    failures.push({ label, title: "what is promised", message, again: undefined });
    counts.failed++;
  }
  note(label, counts, startedAt);
}

/** What testing/docs/testing-server.md promises and a run of the published packages did not show. */
function shortfallsOf(kind, { packages, supported }) {
  if (kind !== "test") {
    if (supported === undefined || supported >= LEAST_SUPPORTED) return [];
    return [`The test server supports ${supported} of the commands, ${LEAST_SUPPORTED} is promised`];
  }
  if (packages === undefined || packages >= FEWEST_ON_TEST_SERVER) return [];
  return [`${packages} published packages passed, ${FEWEST_ON_TEST_SERVER} are promised`];
}

/** Long runs are long on this Node only: other versions have other engines, not other logic. */
async function otherNodes() {
  const { nodeBinary } = await import("./node-versions.mjs");
  for (const version of NODE_VERSIONS) {
    if (process.versions.node.startsWith(`${version}.`)) continue;
    const binary = await nodeBinary(version);
    for (const group of GROUPS_FOR_OTHER_NODES) {
      await runMocha(group, `${group}, Node ${version}`, { node: binary, isShort: true });
    }
  }
}

async function otherRuntimes() {
  const { runUnderRuntimes } = await import("./runtimes.mjs");
  let startedAt = performance.now();
  for await (const [name, counts] of runUnderRuntimes()) {
    note(`runtime ${name}`, counts, startedAt);
    startedAt = performance.now();
  }
}

/** The documentation as a site, in a real browser. */
async function testSite() {
  if (!(await check("site, built", process.execPath, [join("scripts", "site.mjs")]))) return;
  const mocha = [toolPath("mocha", "mocha"), "--no-config", join("test", "site", "site.test.mjs")];
  await check("site, in a browser", process.execPath, mocha);
}

/** Each ten times in a row; a group ends with the first run that fails. */
async function repeatForLong() {
  for (const { group, only } of REPEATED_BY_LONG) {
    const failedBefore = total.failed;
    const name = only === undefined ? group : `${group} ${only.split(".")[0]}`;
    for (let round = 1; round <= LONG_REPEATS && total.failed === failedBefore; round++) {
      await runMocha(group, `${name}, ${round} of ${LONG_REPEATS}`, { only, isShort: true });
    }
  }
}

/** A group, and its second run on the test server if it has one, each to be run at any time. */
function runsOf(group, suffix, isBeside) {
  if (group === "types") return [runTypes];
  if (group === "consumers") return [() => runPackages(isBeside)];
  const runs = [() => runMocha(group, `${group}${suffix}`, { isBeside })];
  if (group in ON_TEST_SERVER)
    runs.push(() =>
      runMocha(group, `${group}, test server${suffix}`, { isBeside, ...ON_TEST_SERVER[group] }),
    );
  return runs;
}

/** Most groups wait most of the time: one more at once than there are processors, whose output comes when each has ended. */
async function runGroups(round) {
  const suffix = repeats === 1 ? "" : `, ${round} of ${repeats}`;
  const wanted = GROUPS.filter((group) => chosen.length === 0 || chosen.includes(group));
  // The tests that the long run adds are held against the clock.
  const lanes = isLong || wanted.length === 1 ? 1 : Math.min(options.lanes, availableParallelism() + 1);
  const waiting = wanted.flatMap((group) => runsOf(group, suffix, lanes > 1));
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await next();
  };
  await Promise.all(Array.from({ length: lanes }, work));
}

async function reportCoverage() {
  if (!existsSync(rawCoverage)) return;
  const reporters = ["text-summary", "lcovonly", "text", "html"];
  const forms = reporters.flatMap((reporter) => ["--reporter", reporter]);
  // The counts are of build/src; the source maps say what that is in src.
  const scope = ["--temp-directory", rawCoverage, "--exclude-after-remap", "--include", "src/**"];
  await run(process.execPath, [toolPath("c8", "c8"), "report", ...scope, ...forms]);
}

/** Tests of what users install, and of the documentation that is made of the declarations. */
const DECLARATION_READERS = /^test\/(?:package|unit\/docs)\//;

/** Runs the files of the command line, prints each test with its result, and prepares only what they need. */
async function runFiles() {
  const files = chosenFiles.map(compiledPath);
  for (const file of files) {
    if (existsSync(file)) continue;
    console.error(`There is no ${file}`);
    process.exit(1);
  }
  const isUnit = chosenFiles.every((path) => path.startsWith("test/unit/"));
  const env = { SLUICE_TARGET: targetOf(isUnit ? "unit" : "") };
  const readsDeclarations = chosenFiles.some((path) => DECLARATION_READERS.test(path));
  if (env.SLUICE_TARGET === "built" || readsDeclarations) {
    await buildCode({ ifStale: true });
    await buildTestKit({ ifStale: true });
  }
  if (readsDeclarations) {
    await buildDeclarations({ ifStale: true });
    await buildTestKitDeclarations({ ifStale: true });
  }
  const mocha = [toolPath("mocha", "mocha"), ...(options.grep === undefined ? [] : ["-g", options.grep])];
  let status = 0;
  for (let round = 1; round <= repeats && status === 0; round++)
    status = (await run(process.execPath, [...mocha, ...files], { env })) ?? 1;
  process.exit(status);
}

// A signal without a listener would skip the exit hooks that end what was started.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
await ensureInstalled();
// These load what has only now been installed for certain.
const { buildCode, buildDeclarations } = await import("./build.mjs");
const { buildTestKit, buildTestKitDeclarations } = await import("../testing/build.mjs");
const { compile, compiledPath } = await import("./compile.mjs");
await compile();
if (chosenFiles.length > 0) await runFiles();
for (const directory of ["coverage", join("build", "counts")]) {
  rmSync(join(checkout, directory), { recursive: true, force: true });
}
if (!(await check("build", process.execPath, [join("scripts", "build.mjs")]))) finish();
const types = [...compiler(join("test", "tsconfig.json")), "--noEmit"];
if (!(await check("types of the tests", process.execPath, types))) finish();
const demo = [...compiler(join("demo", "tsconfig.json")), "--noEmit"];
if (!(await check("types of the demo", process.execPath, demo))) finish();
if (chosen.length === 0)
  await check("lint", process.execPath, [toolPath("@biomejs/biome", "biome"), "check", "."]);
const needsServers = chosen.length === 0 || chosen.some((group) => !WITHOUT_SERVERS.includes(group));
if (needsServers || isLong) await getServers();
const failedBefore = total.failed;
for (let round = 1; round <= repeats && total.failed === failedBefore; round++) await runGroups(round);
await tryAgainAlone();
if (isLong) {
  await testSite();
  await repeatForLong();
  await otherNodes();
  await otherRuntimes();
}
await reportCoverage();
finish();
