/**
 * Programs as users write them, moved from the original as the documentation says, with every package manager, in one
 * step and in two: the types compile, the program does the same work and ends by itself, and one client is installed.
 * Also test suites of two frameworks that fake their timers. They fetch a good part of the registry: the long run only.
 */

import { execFile } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";
import { serverKinds, sharedServer } from "../support/shared-servers";
import { packPackage } from "./installed-package";
import { installTools } from "./installed-tools";
import { cleanEnvironment, installWith, type PackageManager, packageManagers } from "./package-managers";

const run = promisify(execFile);
const home = join(checkoutDirectory(), "test", "package", "fixtures", "services");
const isLong = process.env.SLUICE_LONG === "1";
/** A registry may lack the binaries of other systems, which Yarn asks for: installs.test.ts tries both Yarns. */
const managers = packageManagers.filter(({ name }) => name === "npm" || name === "pnpm");
const WHO_GETS_WHAT = `
  const { createRequire } = require("node:module");
  const { join } = require("node:path");
  const { realpathSync } = require("node:fs");
  const found = ["", ...process.argv.slice(1).map((name) => join("node_modules", name))].flatMap((path) => {
    const requireThere = createRequire(join(realpathSync(path || "."), "x.js"));
    try {
      return [requireThere("ioredis/package.json").name];
    } catch {
      return [];
    }
  });
  console.log(JSON.stringify([...new Set(found)].sort()));`;
const PROGRAM_TIMEOUT_MS = 60_000;

type Manifest = Record<string, Record<string, string>>;

describe("services that are moved here", function () {
  this.timeout(600_000);
  let tarball: string;
  let tools: string;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    const [kind = "redis"] = serverKinds();
    const { port } = await sharedServer(kind);
    env = { ...cleanEnvironment, REDIS_HOST: "127.0.0.1", REDIS_PORT: String(port) };
    tools = await installTools();
    tarball = (await packPackage()).path;
  });

  function begin(service: string, files: Readonly<Record<string, string>> = {}): string {
    const directory = temporaryDirectory();
    cpSync(join(home, service), directory, { recursive: true });
    cpSync(tarball, join(directory, "sluice.tgz"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
    return directory;
  }

  /** The one line that changes. */
  function changeLine(directory: string): Manifest {
    const path = join(directory, "package.json");
    const manifest = JSON.parse(readFileSync(path, "utf8")) as Manifest;
    manifest["dependencies"] = { ...manifest["dependencies"], ioredis: "file:./sluice.tgz" };
    writeFileSync(path, JSON.stringify(manifest));
    return manifest;
  }

  /** Names of the packages that the program and everything that it depends on get as `ioredis`. */
  async function clientsOf(directory: string, { dependencies }: Manifest): Promise<string[]> {
    const { stdout } = await run(
      process.execPath,
      ["-e", WHO_GETS_WHAT, ...Object.keys(dependencies ?? {})],
      {
        cwd: directory,
        env,
      },
    );
    return JSON.parse(stdout) as string[];
  }

  async function compileAndRun(directory: string): Promise<void> {
    const compiler = join(directory, "node_modules", "typescript", "bin", "tsc");
    const compiled = await run(process.execPath, [compiler], { cwd: directory, env }).catch(
      ({ stdout }: { stdout: string }) => ({ stdout }),
    );
    expect(compiled.stdout).to.equal("");
    const program = join("dist", "main.js");
    const { stdout } = await run(process.execPath, [program], {
      cwd: directory,
      env,
      timeout: PROGRAM_TIMEOUT_MS,
    });
    const expected: unknown = JSON.parse(readFileSync(join(directory, "expected.json"), "utf8"));
    expect(JSON.parse(stdout)).to.deep.equal(expected);
  }

  async function inOneStep(service: string, manager: PackageManager): Promise<void> {
    const directory = begin(service, manager.files);
    await installWith(manager, directory, tools);
    const manifest = changeLine(directory);
    manager.override(directory, manifest, "file:./sluice.tgz");
    for (const name of manager.forgotten ?? []) rmSync(join(directory, name), { recursive: true });
    await installWith(manager, directory, tools);
    expect(await clientsOf(directory, manifest)).to.deep.equal(["sluice"]);
    await compileAndRun(directory);
  }

  async function inTwoSteps(service: string, manager: PackageManager): Promise<void> {
    const directory = begin(service, manager.files);
    await installWith(manager, directory, tools);
    const manifest = changeLine(directory);
    await installWith(manager, directory, tools);
    expect(await clientsOf(directory, manifest)).to.deep.equal(["ioredis", "sluice"]);
    manager.override(directory, manifest, "file:./sluice.tgz");
    for (const name of manager.forgotten ?? []) rmSync(join(directory, name), { recursive: true });
    await installWith(manager, directory, tools);
    expect(await clientsOf(directory, manifest)).to.deep.equal(["sluice"]);
    await compileAndRun(directory);
  }

  for (const service of isLong ? ["express", "nestjs", "fastify"] : []) {
    it(`${service} holds on the original`, async () => {
      const [npm] = packageManagers;
      if (npm === undefined) throw new Error("npm is always there");
      const directory = begin(service);
      await installWith(npm, directory, tools);
      await compileAndRun(directory);
    });

    for (const manager of managers) {
      it(`${service}, ${manager.name}, in one step`, () => inOneStep(service, manager));
      it(`${service}, ${manager.name}, first the line, later the override`, () =>
        inTwoSteps(service, manager));
    }
  }

  for (const framework of isLong ? ["jest", "vitest"] : []) {
    it(`${framework} with fake timers`, async () => {
      const [npm] = packageManagers;
      if (npm === undefined) throw new Error("npm is always there");
      const directory = begin(framework);
      changeLine(directory);
      await installWith(npm, directory, tools);
      await run("npm", ["test"], { cwd: directory, env, timeout: PROGRAM_TIMEOUT_MS });
    });
  }
});
