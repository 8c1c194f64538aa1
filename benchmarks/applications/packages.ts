/**
 * The packages of the measured services, from `benchmarks/applications/package.json`. They are installed in
 * the cache of the checkout when they are first needed, so that other developers do not have to install them.
 */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { cacheDirectory } from "../../scripts/servers/cache-directory";
import { projectRoot } from "../support/project";

const MANIFEST = path.join(projectRoot, "benchmarks", "applications");
const FILES = ["package.json", "package-lock.json"];
const home = path.join(cacheDirectory(), "benchmark-applications");

/** Installs what the lock file says, unless that has been done. */
export function installPackages(): void {
  const isSame = FILES.every((file) => contentOf(home, file) === contentOf(MANIFEST, file));
  if (isSame && fs.existsSync(path.join(home, "node_modules"))) return;
  fs.mkdirSync(home, { recursive: true });
  for (const file of FILES) fs.copyFileSync(path.join(MANIFEST, file), path.join(home, file));
  // Not `npm ci`: it refuses a lock file in which a binary for some other system is missing.
  const words = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
  execFileSync("npm", words, { cwd: home, stdio: ["ignore", "ignore", "inherit"] });
}

function contentOf(folder: string, file: string): string | undefined {
  const found = path.join(folder, file);
  return fs.existsSync(found) ? fs.readFileSync(found, "utf8") : undefined;
}

/** One of those packages; the caller says what it needs of it. */
export function requirePackage<T>(name: string): T {
  return createRequire(path.join(home, "package.json"))(name) as T;
}

export function versionsOfPackages(): Record<string, string> {
  const text = contentOf(MANIFEST, "package-lock.json") ?? "{}";
  const { packages = {} } = JSON.parse(text) as { packages?: Record<string, { version?: string }> };
  const manifest = JSON.parse(contentOf(MANIFEST, "package.json") ?? "{}") as {
    devDependencies?: Record<string, string>;
  };
  const names = Object.keys(manifest.devDependencies ?? {});
  return Object.fromEntries(names.map((name) => [name, packages[`node_modules/${name}`]?.version ?? ""]));
}
