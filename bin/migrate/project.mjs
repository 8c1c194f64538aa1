/** What the migration looks at: manifest, package manager, lock file, sources. */

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, sep } from "node:path";

const LOCKS = {
  npm: ["package-lock.json", "npm-shrinkwrap.json"],
  pnpm: ["pnpm-lock.yaml"],
  yarn: ["yarn.lock"],
  bun: ["bun.lock", "bun.lockb"],
};
/** Files that only one of them reads, for a project without a lock file. */
const SETTINGS = { "pnpm-workspace.yaml": "pnpm", ".yarnrc.yml": "yarn", "bunfig.toml": "bun" };
const NOT_SOURCES = new Set(["node_modules", "dist", "build", "coverage", "out", "vendor"]);
const SOURCE = /(?<!\.d)\.(?:[cm]?[jt]s|[jt]sx)$/;
const OTHER = /^(?:\.env.*|Dockerfile.*|.*\.ya?ml|.*\.sh)$/;
const MAX_BYTES = 1024 * 1024;

function managerOf(folder, manifest, wanted) {
  if (wanted !== undefined) {
    if (!(wanted in LOCKS)) throw new Error(`no package manager named ${wanted}: npm, pnpm, yarn or bun`);
    return wanted;
  }
  const named = /^(npm|pnpm|yarn|bun)@/.exec(manifest.packageManager ?? "")?.[1];
  if (named !== undefined) return named;
  const found = Object.keys(LOCKS).filter((name) =>
    LOCKS[name].some((file) => existsSync(join(folder, file))),
  );
  if (found.length > 1) throw new Error(`lock files of ${found.join(" and ")}: say which by --manager`);
  const setting = Object.keys(SETTINGS).find((file) => existsSync(join(folder, file)));
  return found[0] ?? SETTINGS[setting] ?? "npm";
}

/** Paths from the folder, with / on every system; symbolic links are not followed. */
function* files(folder, at = folder) {
  for (const entry of readdirSync(at, { withFileTypes: true })) {
    const path = join(at, entry.name);
    if (entry.isDirectory()) {
      if (!NOT_SOURCES.has(entry.name) && !entry.name.startsWith(".git")) yield* files(folder, path);
    } else if (entry.isFile() && (SOURCE.test(entry.name) || OTHER.test(entry.name))) {
      if (statSync(path).size <= MAX_BYTES) yield relative(folder, path).split(sep).join("/");
    }
  }
}

/** The compiler of the project, if it is one that can be asked for the syntax of a text. */
function compilerOf(folder) {
  try {
    const compiler = createRequire(join(folder, "package.json"))("typescript");
    return typeof compiler.createSourceFile === "function" ? compiler : null;
  } catch {
    return null;
  }
}

/**
 * @param {string} folder
 * @param {string | undefined} wantedManager
 */
export function readProject(folder, wantedManager) {
  const path = join(folder, "package.json");
  if (!existsSync(path)) throw new Error(`there is no package.json in ${folder}`);
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  const manager = managerOf(folder, manifest, wantedManager);
  const lock = LOCKS[manager].find((file) => existsSync(join(folder, file)));
  const all = [...files(folder)];
  return {
    folder,
    manifest,
    manager,
    lock,
    compiler: compilerOf(folder),
    sources: all.filter((name) => SOURCE.test(name)),
    others: all.filter((name) => !SOURCE.test(name) && !/lock/.test(name)),
    read: (name) => readFileSync(join(folder, name), "utf8"),
    has: (name) => existsSync(join(folder, name)),
  };
}

/** Where a dependency stands, or undefined. */
export function fieldOf({ manifest }, name) {
  return ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"].find(
    (field) => manifest[field]?.[name] !== undefined,
  );
}
