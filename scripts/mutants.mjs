/**
 * Changes the compiled code at sampled places, one at a time, and runs the unit tests on each mutant. A mutant that no
 * test notices survives and is printed: a rule without a test, or code without an effect.
 *
 *   npm run mutants -- src/link src/cluster --count=30 --seed=1
 *   npm run mutants -- src/link/liveness.ts --tests=link
 *   npm run mutants -- src/link/intake.ts:96 --tests=link/link.test.ts
 *
 * A line is one of the compiled file, as printed for a survivor: all its mutants are tried.
 *
 * A first run of each test file records the code that it executes. Each mutant then runs only the test files that
 * execute its place, the fastest ones first.
 *
 * Only build/ is changed, and each file is restored after its mutant.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { parseSync } from "oxc-parser";
import { compile, compiledPath } from "./compile.mjs";
import { checkout, toolPath } from "./run-command.mjs";

/** Detects a mutant that hangs: it may take this many times as long as the unchanged code. */
const LONGEST = 3;

const SWAPPED = new Map([
  ["===", "!=="],
  ["!==", "==="],
  ["<", "<="],
  ["<=", "<"],
  [">", ">="],
  [">=", ">"],
  ["&&", "||"],
  ["||", "&&"],
  ["+", "-"],
  ["-", "+"],
  ["&", "|"],
  ["+=", "-="],
  ["-=", "+="],
]);

/** The files below a directory whose names end so, from the checkout. */
function filesIn(directory, ending) {
  const paths = readdirSync(join(checkout, directory), { recursive: true, encoding: "utf8" });
  return paths.filter((path) => path.endsWith(ending)).map((path) => join(directory, path));
}

/** The changes that a node allows: from, to, and the text in between. */
function* changesOf(node, code) {
  const text = (one) => code.slice(one.start, one.end);
  const operatorOf = ({ left, right, operator }) => {
    const at = code.indexOf(operator, left.end);
    return at < right.start ? [at, at + operator.length] : null;
  };
  switch (node.type) {
    case "BinaryExpression":
    case "LogicalExpression":
    case "AssignmentExpression": {
      const swapped = SWAPPED.get(node.operator);
      const range = swapped === undefined ? null : operatorOf(node);
      if (range !== null) yield [...range, swapped];
      break;
    }
    case "IfStatement":
    case "ConditionalExpression":
      yield [node.test.start, node.test.end, `!(${text(node.test)})`];
      break;
    case "UnaryExpression":
      if (node.operator === "!") yield [node.start, node.end, `(${text(node.argument)})`];
      break;
    case "Literal":
      if (typeof node.value === "boolean") yield [node.start, node.end, String(!node.value)];
      else if (typeof node.value === "number") yield [node.start, node.end, String(node.value + 1)];
      break;
    case "ExpressionStatement":
      if (node.expression.type === "CallExpression") yield [node.start, node.end, ";"];
      break;
    default:
  }
}

/**
 * The parts of a node that may change the behavior. `(0, imported.name)(...)` and `void 0` come from the compiler, and
 * a line of the debug log has no effect.
 */
function partsOf(node) {
  const { type, operator, expressions, expression } = node;
  if (type === "UnaryExpression" && operator === "void") return [];
  if (type === "SequenceExpression" && expressions[0].value === 0) return expressions.slice(1);
  if (type === "ExpressionStatement" && expression.callee?.name === "debug") return [];
  return null;
}

/** Constants of a module are tuned times and sizes, or stand for names: tests hold no exact number. */
function isConstant({ type, declarations }) {
  return (
    type === "VariableDeclaration" && declarations.every(({ init }) => !/Function|Class/.test(init?.type))
  );
}

function walk(node, visit) {
  if (node === null || typeof node !== "object") return;
  if (Array.isArray(node)) {
    for (const one of node) walk(one, visit);
    return;
  }
  const parts = partsOf(node);
  if (parts !== null) {
    walk(parts, visit);
    return;
  }
  if (typeof node.type === "string") visit(node);
  for (const value of Object.values(node)) walk(value, visit);
}

/** All mutants of a compiled file, behind what the compiler has put in front. */
function mutantsOf(path) {
  const code = readFileSync(path, "utf8");
  const begin = code.lastIndexOf("module.exports = __toCommonJS");
  const end = code.lastIndexOf("// Annotate the CommonJS export names");
  const mutants = [];
  walk(
    parseSync(path, code).program.body.filter((one) => !isConstant(one)),
    (node) => {
      if (node.start < begin || node.end > (end < 0 ? code.length : end)) return;
      for (const [from, to, text] of changesOf(node, code)) mutants.push({ path, code, from, to, text });
    },
  );
  return mutants;
}

/** A generator of numbers below 1 that begins anew with each seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function lineOf({ code, from }) {
  return code.slice(0, from).split("\n").length;
}

/** The line of a mutant, before and after. */
function describe({ path, code, from, to, text }) {
  const start = code.lastIndexOf("\n", from) + 1;
  const stop = code.indexOf("\n", to);
  const line = lineOf({ code, from });
  const mutated = code.slice(start, from) + text + code.slice(to, stop);
  return `${relative(checkout, path)}:${line}\n    ${code.slice(start, stop).trim()}\n    ${mutated.trim()}`;
}

/** `mocha` itself starts another process for the flags in its settings, which would outlive the end of `mocha`. */
const runner = join(toolPath("mocha", "mocha"), "..", "..", "lib", "cli", "cli.js");

/** Runs tests in a process of their own. Its status is 0 if all of them pass within the time. */
function run(tests, timeout, env) {
  const mocha = [runner, "--bail", "--reporter=dot", ...tests];
  const options = { cwd: checkout, timeout, killSignal: "SIGKILL", env, encoding: "utf8" };
  return spawnSync(process.execPath, mocha, options);
}

/** The coverage of the processes that have written their reports into a directory: scripts with their functions. */
function scriptsIn(directory) {
  const reports = readdirSync(directory).map((name) => readFileSync(join(directory, name), "utf8"));
  return reports
    .flatMap((report) => JSON.parse(report).result)
    .filter(({ url }) => url.includes("/build/src/"));
}

/** Runs a test file alone: what it executes, and how long it takes. */
function observe(test) {
  const directory = mkdtempSync(join(tmpdir(), "mutants-"));
  const startedAt = performance.now();
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: directory };
    // A loaded machine may make a test fail once.
    for (let tries = 1; ; tries++) {
      const { status, stdout } = run([test], undefined, env);
      if (status === 0) break;
      if (tries > 1) throw new Error(`${test} fails without a mutant: mend it first\n${stdout}`);
    }
    return { test, durationMs: performance.now() - startedAt, scripts: scriptsIn(directory) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Returns true if a test file executes the place of a mutant: the count of the innermost range decides. */
function executes({ scripts }, { path, from, to }) {
  const { href } = pathToFileURL(path);
  return scripts.some(({ url, functions }) => {
    if (url !== href) return false;
    const ranges = functions.flatMap((one) => one.ranges);
    const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= from && endOffset >= to);
    const length = ({ startOffset, endOffset }) => endOffset - startOffset;
    around.sort((one, other) => length(one) - length(other));
    return around.length > 0 && around[0].count > 0;
  });
}

/** Returns true if a test fails, or does not end. */
function isKilled(mutant, observed) {
  const reached = observed.filter((one) => executes(one, mutant));
  if (reached.length === 0) return false;
  const limitMs = Math.ceil(reached.reduce((sum, { durationMs }) => sum + durationMs * LONGEST, 0));
  const { path, code, from, to, text } = mutant;
  writeFileSync(path, code.slice(0, from) + text + code.slice(to));
  try {
    const { status } = run(
      reached.map(({ test }) => test),
      limitMs,
    );
    return status !== 0;
  } finally {
    writeFileSync(path, code);
  }
}

/** The folders of unit tests that are about code of the client. */
function testFolders() {
  return readdirSync(join(checkout, "src"), { withFileTypes: true })
    .filter((one) => one.isDirectory() && existsSync(join(checkout, "test/unit", one.name)))
    .map(({ name }) => name);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string", default: "30" },
    seed: { type: "string", default: "1" },
    tests: { type: "string", default: "" },
  },
});
await compile();
const roots = positionals.length > 0 ? positionals : ["src/link", "src/connection", "src/cluster"];
const sources = roots.flatMap((root) => (/\.ts(:\d+)?$/.test(root) ? [root] : filesIn(root, ".ts")));
const all = sources.sort().flatMap((source) => {
  const [path, line] = source.split(":");
  const mutants = mutantsOf(compiledPath(path));
  return line === undefined ? mutants : mutants.filter((one) => lineOf(one) === Number(line));
});
const random = randomOf(Number(values.seed));
const sample = [];
const places = all.length;
while (sample.length < Math.min(Number(values.count), places)) {
  const index = Math.floor(random() * all.length);
  sample.push(...all.splice(index, 1));
}
const folders = values.tests === "" ? testFolders() : values.tests.split(",");
const tests = folders.flatMap((one) =>
  one.endsWith(".ts") ? [compiledPath(`test/unit/${one}`)] : filesIn(`build/test/unit/${one}`, ".test.js"),
);
const observed = tests.map(observe).sort((one, other) => one.durationMs - other.durationMs);
let killed = 0;
for (const mutant of sample) {
  if (isKilled(mutant, observed)) killed++;
  else console.log(`survived: ${describe(mutant)}`);
}
console.log(`${killed} of ${sample.length} mutants killed, ${places} places`);
