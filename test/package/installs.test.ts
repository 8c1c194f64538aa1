/**
 * The ways in which the package gets into a program: in the place of the original for a package that
 * depends on that, by npm, pnpm and Yarn, with the override from the start or added later; and from a folder.
 */

import { execFile } from "node:child_process";
import { cpSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";
import { packPackage } from "./installed-package";
import { installTools } from "./installed-tools";
import {
  cleanEnvironment as env,
  installWith,
  type PackageManager,
  packageManagers,
} from "./package-managers";

const run = promisify(execFile);
const WHO_IS_IT = `
  const mine = require("ioredis");
  const theirs = require("needs-it");
  console.log(mine === theirs ? require("ioredis/package.json").name : "two copies");`;

describe("installation", function () {
  this.timeout(240_000);
  let tarball: string;
  let dependant: string;
  let tools: string;

  before(async () => {
    tools = await installTools();
    tarball = (await packPackage()).path;
    const source = temporaryDirectory();
    const manifest = {
      name: "needs-it",
      version: "1.0.0",
      main: "index.js",
      dependencies: { ioredis: "^5.4.0" },
    };
    writeFileSync(join(source, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(source, "index.js"), 'module.exports = require("ioredis");');
    await run("npm", ["pack", "--pack-destination", source], { cwd: source, env });
    dependant = join(source, "needs-it-1.0.0.tgz");
  });

  function begin(manager: PackageManager): {
    directory: string;
    manifest: Record<string, unknown>;
    target: string;
  } {
    const directory = temporaryDirectory();
    cpSync(tarball, join(directory, "sluice.tgz"));
    cpSync(dependant, join(directory, "needs-it.tgz"));
    const target = "file:./sluice.tgz";
    const manifest = { private: true, dependencies: { ioredis: target, "needs-it": "file:./needs-it.tgz" } };
    writeFileSync(join(directory, "package.json"), JSON.stringify(manifest));
    for (const [name, text] of Object.entries(manager.files ?? {}))
      writeFileSync(join(directory, name), text);
    return { directory, manifest, target };
  }

  async function whoIsIt(cwd: string): Promise<string> {
    return (await run(process.execPath, ["-e", WHO_IS_IT], { cwd, env })).stdout.trim();
  }

  for (const manager of packageManagers) {
    it(`${manager.name}: the override of the documentation, at once`, async () => {
      const { directory, manifest, target } = begin(manager);
      manager.override(directory, manifest, target);
      await installWith(manager, directory, tools);
      expect(await whoIsIt(directory)).to.equal("sluice");
    });

    it(`${manager.name}: the override of the documentation, added later`, async () => {
      const { directory, manifest, target } = begin(manager);
      await installWith(manager, directory, tools);
      expect(await whoIsIt(directory)).to.equal("two copies");
      manager.override(directory, manifest, target);
      for (const name of manager.forgotten ?? []) rmSync(join(directory, name), { recursive: true });
      await installWith(manager, directory, tools);
      expect(await whoIsIt(directory)).to.equal("sluice");
    });
  }

  it("a folder that was never built is built when it is installed", async () => {
    const root = checkoutDirectory();
    const folder = temporaryDirectory();
    for (const name of [
      "src",
      "scripts",
      "demo",
      "testing",
      "migrate",
      "package.json",
      "package-lock.json",
      "tsconfig.json",
      "LICENSE",
    ]) {
      cpSync(join(root, name), join(folder, name), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const application = temporaryDirectory();
    writeFileSync(join(application, "package.json"), JSON.stringify({ private: true }));
    await run("npm", ["install", folder, "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: application,
      env,
    });
    const code = 'console.log(new (require("sluice"))({ lazyConnect: true }).status)';
    const { stdout } = await run(process.execPath, ["-e", code], { cwd: application, env });
    expect(stdout.trim()).to.equal("wait");
  });
});
