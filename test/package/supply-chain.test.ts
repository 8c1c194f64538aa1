/** The package that a user installs, and its making: no file, no dependency and no script too many. */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { temporaryDirectory } from "../../scripts/servers/temporary-directory";

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
}

interface LockFile {
  readonly lockfileVersion: number;
  readonly packages: Record<string, LockedPackage>;
}

interface Manifest {
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Record<string, string>;
  readonly scripts: Record<string, string>;
  readonly files: readonly string[];
}

/** As `LATE` of scripts/build.mjs names them. */
const LATE_PARTS = [
  "admission",
  "auto-pipeliner",
  "bulk",
  "client-cache",
  "cluster-client",
  "cluster-errors",
  "cluster-options",
  "command-limits",
  "consumers",
  "deadlines",
  "effects",
  "lease-errors",
  "leases",
  "legacy-command",
  "locks",
  "failover",
  "maintenance",
  "merging",
  "messages",
  "module-methods",
  "own-writes",
  "pipeline-trace",
  "reader-choice",
  "replicas",
  "scan-stream",
  "sentinel-connector",
  "sentinel-list",
  "socket-timeout",
  "unblocker",
];
const root = checkoutDirectory();
const LOCK_FILES = [
  "package-lock.json",
  "benchmarks/applications/package-lock.json",
  "test/consumers/package-lock.json",
  "test/package/runners/package-lock.json",
  "test/package/tools/package-lock.json",
];
/** Beside the sub-paths. */
const OTHER_FILES = [
  "LICENSE",
  "AGENTS.md",
  "CHANGELOG.md",
  "README.md",
  "SECURITY.md",
  "package.json",
  "bin/sluice.mjs",
  "built/top.mjs",
  "built/demo/crowd.js",
  "built/demo/dataset.js",
  "built/demo/installed.js",
  "built/index.js",
  "built/index.js.map",
  "built/index.mjs",
  "built/index.d.ts",
  "built/index.d.mts",
  "built/commands.d.ts",
  "built/declarations.d.ts",
  "built/core.js",
  "built/core.js.map",
  "built/modules/index.js",
  "built/with.js",
  "built/with.d.ts",
  ...LATE_PARTS.flatMap((name) => [".js", ".js.map"].map((end) => `built/late/${name}${end}`)),
  "built/rolldown-runtime.js",
  ...["credentials", "otel", "otel-instrumentation", "otel-shared"].flatMap((name) =>
    [".js", ".d.ts"].map((end) => `built/${name}${end}`),
  ),
  "built/credentials.js.map",
  "built/otel-instrumentation.js.map",
  "built/otel-shared.js.map",
  "built/otel-rolldown-runtime.js",
  "doors/need-test-kit.js",
  "doors/testing.js",
  "doors/testing.d.ts",
  ...[".js", ".mjs", ".d.ts", ".d.mts"].map((end) => `doors/testing-mock${end}`),
];
/** npm runs these on the machine of whoever installs the package from a registry. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall", "prepublish"];

function read<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), "utf8")) as T;
}

function packedPaths(): string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const output = execFileSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [packed] = JSON.parse(output) as [{ files: { path: string }[] }];
  return packed.files.map(({ path }) => path);
}

/** The packages of these names and those below them, as the lock file has them. */
function neededBy(
  names: readonly string[],
  packages: LockFile["packages"],
  found = new Map<string, LockedPackage>(),
): [string, LockedPackage][] {
  for (const name of names) {
    const path = `node_modules/${name}`;
    const entry = packages[path];
    if (entry === undefined) throw new Error(`${name} is not in the lock file`);
    if (found.has(path)) continue;
    found.set(path, entry);
    neededBy(Object.keys(entry.dependencies ?? {}), packages, found);
  }
  return [...found];
}

describe("supply chain", function () {
  this.timeout(60_000);

  it("the package holds what is compiled from src, and a few files besides", () => {
    const paths = packedPaths();
    expect(paths).to.include.members(OTHER_FILES);
    const strange = paths.filter((path) => {
      if (OTHER_FILES.includes(path)) return false;
      // The bundler chooses the names of the ES modules.
      if (/^built\/modules\/[\w/-]+\.mjs$/.test(path)) return false;
      if (/^(?:docs\/[\w-]+\.md|examples\/[\w-]+\.m?js)$/.test(path)) return false;
      const module = /^built\/(.+?)(?:\.d\.ts|\.js|\.js\.map)$/.exec(path)?.[1];
      return module === undefined || !existsSync(join(root, "src", "subpaths", `${module}.ts`));
    });
    expect(strange).to.deep.equal([]);
  });

  it("few dependencies at run time, one below them, no script at installation", () => {
    const manifest = read<Manifest>("package.json");
    expect(Object.keys(manifest.dependencies).sort()).to.deep.equal(["cluster-key-slot", "debug", "denque"]);
    const { packages } = read<LockFile>("package-lock.json");
    const needed = neededBy(Object.keys(manifest.dependencies), packages);
    expect(needed.map(([path]) => path.replace("node_modules/", "")).sort()).to.deep.equal([
      "cluster-key-slot",
      "debug",
      "denque",
      "ms",
    ]);
    expect(needed.filter(([, one]) => one.hasInstallScript)).to.deep.equal([]);
    expect(INSTALL_SCRIPTS.filter((name) => name in manifest.scripts)).to.deep.equal([]);
  });

  it("the repository has one placeholder, which the release fills and without which nothing is published", () => {
    const copy = temporaryDirectory();
    cpSync(join(root, "scripts"), join(copy, "scripts"), { recursive: true });
    const manifests = ["", "testing", "migrate"].map((name) => join(name, "package.json"));
    for (const path of manifests) cpSync(join(root, path), join(copy, path));
    const pages = ["README.md", "docs/getting-started.md", "site/landing.md", "site/.vitepress/config.mts"];
    for (const path of [...pages, "testing/README.md"]) cpSync(join(root, path), join(copy, path));
    const named = manifests.filter((path) => /\bOWNER\b/.test(readFileSync(join(copy, path), "utf8")));
    expect(named).to.deep.equal(["package.json"]);
    const publish = (...words: string[]): { status: number | null; stderr: string } => {
      const env = { ...process.env, GITHUB_REPOSITORY: "somebody/sluice" };
      const args = [join(copy, "scripts", "before-publishing.mjs"), ...words];
      return spawnSync(process.execPath, args, { env, encoding: "utf8" });
    };
    expect(publish().stderr).to.include("package.json names no repository yet");
    expect(publish("fill").status).to.equal(0);
    // Pages that say that there is no release are refused too.
    writeFileSync(join(copy, "README.md"), "The package is not on npm yet.");
    expect(publish()).to.include({ status: 1 }).and.to.have.property("stderr").that.includes("README.md");
    for (const path of [...pages, "testing/README.md"]) writeFileSync(join(copy, path), "npm install sluice");
    expect(publish()).to.include({ status: 0, stderr: "" });
    for (const path of manifests) {
      const { repository, homepage } = JSON.parse(readFileSync(join(copy, path), "utf8"));
      expect(repository.url).to.equal("git+https://github.com/somebody/sluice.git");
      expect(homepage).to.include("https://github.com/somebody/sluice");
    }
    for (const page of ["README.md", "SECURITY.md", "CONTRIBUTING.md", "AGENTS.md", "docs/platforms.md"]) {
      expect(readFileSync(join(root, page), "utf8"), page).to.not.match(/\bOWNER\b/);
    }
  });

  for (const path of LOCK_FILES) {
    it(`${path} pins every package by version and hash, and names no registry`, () => {
      const { lockfileVersion, packages } = read<LockFile>(path);
      expect(lockfileVersion).to.equal(3);
      // Workspaces are folders of this repository.
      const entries = Object.entries(packages).filter(
        ([name, { link }]) => name.includes("node_modules/") && !link,
      );
      expect(entries.length).to.be.greaterThan(5);
      const loose = entries.filter(([, { version, integrity, resolved }]) => {
        // The package itself, as it was just packed.
        if (resolved?.startsWith("file:")) return false;
        return !/^\d+\.\d+\.\d+/.test(version ?? "") || !/^sha512-/.test(integrity ?? "");
      });
      expect(loose.map(([name]) => name)).to.deep.equal([]);
      expect(readFileSync(join(root, path), "utf8")).to.not.match(/"resolved": "(?!file:)\w+:/);
    });
  }
});
