/**
 * The test kit in mocha, Jest and vitest, out of the packed tarball in a project of its own: the recipes of
 * testing/docs/testing-your-service.md as they stand there, each of its tests to copy, fake timers, scripts. A runner has to
 * end by itself.
 */

import { execFile } from "node:child_process";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { transform } from "esbuild";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { type Snippet, snippetsOf } from "../support/doc-snippets";
import { Application, packPackage, packTestKit } from "./installed-package";
import { installTools } from "./installed-tools";

const run = promisify(execFile);
const PAGE = join("testing", "docs", "testing-your-service.md");
const fixtures = join(checkoutDirectory(), "test", "package", "fixtures", "runners");
const RUN_TIMEOUT_MS = 120_000;
/** At least one for each promise of docs/guarantees.md that a service rests on. */
const FEWEST_TO_COPY = 20;

interface Runner {
  readonly name: "mocha" | "jest" | "vitest";
  readonly command: readonly string[];
  readonly test: string;
  readonly format: "cjs" | "esm";
  readonly preamble: string;
  /** In what the runner prints at its end. */
  readonly passed: RegExp;
}

const RUNNERS: readonly Runner[] = [
  {
    name: "mocha",
    command: ["mocha/bin/mocha.js", "--timeout", "20000", "mocha/**/*.test.js"],
    test: "it",
    format: "cjs",
    preamble: "",
    passed: /(\d+) passing/,
  },
  {
    name: "jest",
    command: ["jest/bin/jest.js", "--ci", "--testTimeout=20000", "jest/"],
    test: "test",
    format: "cjs",
    preamble: "",
    passed: /Tests: +(\d+) passed/,
  },
  {
    name: "vitest",
    command: ["vitest/vitest.mjs", "run", "--testTimeout=20000", "vitest/"],
    test: "test",
    format: "esm",
    preamble: 'import { test } from "vitest";',
    passed: /Tests +(\d+) passed/,
  },
];
const MODULE_ENDING = { cjs: "js", esm: "mjs" } as const;

/** A program of the page as one test: what it imports stays on top. */
async function asTest({ line, code }: Snippet, { test, format, preamble }: Runner): Promise<string> {
  const lines = code.split("\n");
  const imports = lines.filter((one) => one.startsWith("import "));
  const body = lines.filter((one) => !one.startsWith("import "));
  const whole = [...imports, preamble, `${test}("line ${line}", async () => {`, ...body, "});"].join("\n");
  return (await transform(whole, { loader: "ts", format })).code;
}

async function runRunner(
  { name, command, passed }: Runner,
  tools: string,
  { directory }: Application,
): Promise<{ readonly passed: number; readonly stderr: string }> {
  const [program = "", ...words] = command;
  const { stdout, stderr } = await run(process.execPath, [join(tools, "node_modules", program), ...words], {
    cwd: directory,
    env: { ...process.env, NODE_V8_COVERAGE: "", NO_COLOR: "1", CI: "true" },
    timeout: RUN_TIMEOUT_MS,
  }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${name} failed\n${error.stdout}\n${error.stderr}`);
  });
  return { passed: Number(passed.exec(`${stdout}\n${stderr}`)?.[1]), stderr };
}

/** The recipe of the page that only Jest's own functions can run. */
function jestRecipe(): string {
  const page = readFileSync(join(checkoutDirectory(), PAGE), "utf8");
  const recipe = /```text\n(jest\.mock\([\s\S]*?)```/.exec(page)?.[1];
  if (recipe === undefined) throw new Error(`${PAGE} has no recipe for jest.mock`);
  return recipe;
}

describe("the test kit in runners of tests", function () {
  this.timeout(RUN_TIMEOUT_MS);
  let application: Application;
  let tools: string;

  before(async () => {
    tools = await installTools("runners");
    application = await Application.create({
      sluice: await packPackage(),
      "sluice-testing": await packTestKit(),
    });
    const modules = join(application.directory, "node_modules");
    // The recipe puts the mock in the place of another package than the one that the mock is of.
    cpSync(join(modules, "sluice"), join(modules, "ioredis"), { recursive: true });
    for (const name of ["vitest", "wasmoon-lua5.1"]) {
      symlinkSync(join(tools, "node_modules", name), join(modules, name));
    }
    cpSync(fixtures, application.directory, { recursive: true });
    application.write(join("jest", "recipe.test.js"), jestRecipe());
  });

  for (const runner of RUNNERS) {
    it(`${runner.name} runs the recipes and each test to copy`, async () => {
      const snippets = snippetsOf(PAGE).filter(({ isWhole, isRun }) => isWhole && isRun);
      expect(snippets.length).to.be.at.least(FEWEST_TO_COPY);
      for (const snippet of snippets) {
        const name = `line-${snippet.line}.test.${MODULE_ENDING[runner.format]}`;
        application.write(join(runner.name, name), await asTest(snippet, runner));
      }
      const { passed, stderr } = await runRunner(runner, tools, application);
      expect(passed).to.be.at.least(snippets.length + 3);
      expect(stderr).to.not.include("DeprecationWarning");
    });
  }

  it("jest finds every part under the alias ioredis, without a package named sluice", async () => {
    const jest = RUNNERS.find(({ name }) => name === "jest");
    if (jest === undefined) throw new Error("jest is no runner");
    const aliased = await Application.create({
      ioredis: await packPackage(),
      "sluice-testing": await packTestKit(),
    });
    symlinkSync(
      join(checkoutDirectory(), "node_modules", "@opentelemetry"),
      join(aliased.directory, "node_modules", "@opentelemetry"),
    );
    cpSync(`${fixtures}-aliased`, aliased.directory, { recursive: true });
    cpSync(join(fixtures, "jest", "service.js"), join(aliased.directory, "jest", "service.js"));
    aliased.write(join("jest", "recipe.test.js"), jestRecipe());
    expect((await runRunner(jest, tools, aliased)).passed).to.equal(3);
  });
});
