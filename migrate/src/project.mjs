/** Reads the project: manifest, package manager, lock file and sources. */

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";

const LOCKS = {
  npm: ["package-lock.json", "npm-shrinkwrap.json"],
  pnpm: ["pnpm-lock.yaml"],
  yarn: ["yarn.lock"],
  bun: ["bun.lock", "bun.lockb"],
};
/** Files that only one package manager reads, for a project without a lock file. */
const SETTINGS = { "pnpm-workspace.yaml": "pnpm", ".yarnrc.yml": "yarn", "bunfig.toml": "bun" };
const NOT_SOURCES = new Set(["node_modules", "dist", "build", "coverage", "out", "vendor"]);
const SOURCE = /(?<!\.d)\.(?:[cm]?[jt]s|[jt]sx)$/;
const OTHER = /^(?:\.env.*|Dockerfile.*|.*\.ya?ml|.*\.sh)$/;
const MAX_BYTES = 1024 * 1024;

function managerOf(folder, manifest, wanted) {
  if (wanted !== undefined) {
    if (!(wanted in LOCKS)) throw new Error(`unknown package manager ${wanted}. Use npm, pnpm, yarn or bun`);
    return wanted;
  }
  const named = /^(npm|pnpm|yarn|bun)@/.exec(manifest.packageManager ?? "")?.[1];
  if (named !== undefined) return named;
  const found = Object.keys(LOCKS).filter((name) =>
    LOCKS[name].some((file) => existsSync(join(folder, file))),
  );
  if (found.length > 1)
    throw new Error(`found lock files of ${found.join(" and ")}. Choose one with --manager`);
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

/** Names of the files that git ignores; none without git or outside of a work tree. */
function ignoredBy(folder, names) {
  const options = { cwd: folder, input: names.join("\0"), encoding: "utf8" };
  const { stdout } = spawnSync("git", ["check-ignore", "--stdin", "-z"], options);
  return new Set((stdout ?? "").split("\0"));
}

/** The folders that --source names, as prefixes of paths from the folder. */
function isIn(sources, name) {
  if (sources.length === 0) return true;
  return sources.some((source) => name === source || name.startsWith(`${source}/`));
}

/**
 * @param {string} folder
 * @param {string | undefined} wantedManager
 * @param {readonly string[]} [wantedSources] folders or files in the folder; no other source is read or written
 */
export function readProject(folder, wantedManager, wantedSources = []) {
  const path = join(folder, "package.json");
  if (!existsSync(path)) throw new Error(`there is no package.json in ${folder}`);
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  const manager = managerOf(folder, manifest, wantedManager);
  const lock = LOCKS[manager].find((file) => existsSync(join(folder, file)));
  const wanted = wantedSources.map((one) => relative(folder, resolve(folder, one)).split(sep).join("/"));
  const outside = wanted.find((one) => one === ".." || one.startsWith("../"));
  if (outside !== undefined) throw new Error(`--source ${outside} is outside of ${folder}`);
  const found = [...files(folder)];
  const ignored = ignoredBy(folder, found);
  const all = found.filter((name) => !ignored.has(name) && isIn(wanted.filter(Boolean), name));
  return {
    folder,
    manifest,
    manager,
    lock,
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
