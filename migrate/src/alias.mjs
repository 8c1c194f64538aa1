/**
 * Replaces ioredis in a project: the dependency keeps its name, an override covers packages with their own ioredis, and the
 * entries of the old copies are removed from the lock file of npm.
 */

import { fieldOf } from "./project.mjs";

const CLIENT = /(?:^|\/)node_modules\/ioredis(?:\/|$)/;
const OWN_NAME = "sluice";
const WORKSPACE = "pnpm-workspace.yaml";

/** `^6.0.0` needs the name of the package before it, since the dependency keeps its own. */
function aliased(spec) {
  return /^(?:file:|npm:|git|https?:|link:|workspace:)/.test(spec) ? spec : `npm:sluice@${spec}`;
}

/** True if an earlier run or the user has already chosen sluice. Such a project keeps its version. */
function isMoved(present) {
  return present !== undefined && /^npm:sluice@|[/:]sluice(?:-[\w.-]+)?(?:\.tgz)?$/.test(present);
}

function npmDependants(lock) {
  return Object.entries(lock.packages ?? {}).flatMap(([path, entry]) => {
    const asks = { ...entry.dependencies, ...entry.peerDependencies, ...entry.optionalDependencies };
    return path !== "" && asks.ioredis !== undefined ? [path.split("node_modules/").at(-1)] : [];
  });
}

/** Names of packages that depend on ioredis; undefined without a readable lock file. */
function dependantsOf({ manager, lock, read }) {
  if (lock === undefined || lock === "bun.lockb") return undefined;
  const text = read(lock);
  if (manager === "npm") return npmDependants(JSON.parse(text));
  const found = [];
  let owner = "";
  let isOwn = true;
  for (const line of text.split("\n")) {
    if (manager === "bun") {
      const asks = /^\s+"([^"]+)": \[.*"(?:dependencies|peerDependencies)": \{[^}]*"ioredis":/.exec(line);
      if (asks !== null) found.push(asks[1]);
      continue;
    }
    // pnpm indents packages by two spaces, Yarn by none. Their dependencies are indented further.
    const head = manager === "pnpm" ? /^ {2}(\S[^:]*(?::[^ ]*)?):/.exec(line) : /^("?[^\s#].*):$/.exec(line);
    if (manager === "pnpm" && /^\S/.test(line)) isOwn = line.startsWith("importers:");
    if (head !== null) {
      owner = head[1].replaceAll(/["']/g, "").replace(/(?<=.)@.*/, "");
      // Yarn 2 and later list the packages of the project itself as well.
      if (manager === "yarn") isOwn = head[1].includes("@workspace:");
    } else if (!isOwn) {
      if (/^ {4,6}"?ioredis"?:? /.test(line)) found.push(owner);
    }
  }
  return [...new Set(found)].filter((name) => name !== "ioredis");
}

function planManifest(project, plan, change, lines) {
  const before = project.read("package.json");
  const indent = /^([ \t]+)"/m.exec(before)?.[1] ?? "  ";
  change(project.manifest);
  const end = before.endsWith("\n") ? "\n" : "";
  const after = `${JSON.stringify(project.manifest, null, indent)}${end}`;
  const earlier = plan.edits.find(({ file }) => file === "package.json");
  if (earlier === undefined) plan.edits.push({ file: "package.json", after, lines: [...lines] });
  else {
    earlier.after = after;
    earlier.lines.push(...lines);
  }
}

export function addDependency(project, plan, name, spec) {
  planManifest(
    project,
    plan,
    (manifest) => {
      manifest.dependencies = { ...manifest.dependencies, [name]: spec };
    },
    [`+ dependencies: "${name}": "${spec}"`],
  );
}

function planWorkspace(project, plan, tracers) {
  const before = project.has(WORKSPACE) ? project.read(WORKSPACE) : "";
  const lines = [];
  let after = before;
  if (tracers && !/^nodeLinker:/m.test(after)) {
    after = `nodeLinker: hoisted\n${after}`;
    lines.push(
      "+ nodeLinker: hoisted (tracers that patch modules identify a package by the name of its folder)",
    );
  }
  if (!/^ +["']?ioredis["']?:/m.test(after)) {
    const entry = '  ioredis: "$ioredis"\n';
    if (/^overrides:.*$/m.test(after))
      after = after.replace(/^overrides:.*$/m, (line) => `${line}\n${entry.trimEnd()}`);
    else after = `${after}${after === "" || after.endsWith("\n") ? "" : "\n"}overrides:\n${entry}`;
    lines.push('+ overrides: ioredis: "$ioredis"');
  }
  if (lines.length > 0) plan.edits.push({ file: WORKSPACE, after, lines });
}

function planOverride(project, plan, spec) {
  const { manager } = project;
  if (manager === "pnpm") {
    planWorkspace(project, plan, fieldOf(project, "@opentelemetry/instrumentation-ioredis") !== undefined);
    return;
  }
  const field = manager === "yarn" ? "resolutions" : "overrides";
  const value = manager === "npm" ? "$ioredis" : spec;
  // A second run finds the value of the first.
  if (project.manifest[field]?.ioredis === value) return;
  const set = (manifest) => {
    manifest[field] = { ...manifest[field], ioredis: value };
  };
  planManifest(project, plan, set, [`+ ${field}: "ioredis": "${value}"`]);
}

/** npm prefers its lock file to an override, so the entries of ioredis are removed, and no others. */
function planLock(project, plan) {
  if (project.manager !== "npm" || project.lock === undefined) return;
  const lock = JSON.parse(project.read(project.lock));
  const places = Object.entries(lock.packages ?? {}).flatMap(([path, { name }]) =>
    // The entry of an alias has the name of the real package.
    CLIENT.test(path) && name !== OWN_NAME ? [path] : [],
  );
  if (places.length === 0) return;
  for (const path of places) delete lock.packages[path];
  const lines = places.map((path) => `- ${path}`);
  plan.edits.push({ file: project.lock, after: `${JSON.stringify(lock, null, 2)}\n`, lines });
  plan.removals.push(...places, "node_modules/.package-lock.json");
}

/** @param wanted The specifier of the command line; without it, the present one stays, or `available()` returns one. */
export function planAlias(project, wanted, available, plan) {
  const field = fieldOf(project, "ioredis");
  const dependants = dependantsOf(project);
  const isNeeded = dependants === undefined || dependants.length > 0;
  if (field === undefined && !(dependants?.length > 0)) return;
  const present = field === undefined ? undefined : project.manifest[field].ioredis;
  const spec = wanted === undefined && isMoved(present) ? present : aliased(wanted ?? available());
  if (field === "peerDependencies") {
    plan.notes.push({
      text: "ioredis is a peer dependency: the program that installs this package chooses the client",
      link: "moving-from-ioredis.md",
    });
  }
  const change = (manifest) => {
    const place = field === undefined || field === "peerDependencies" ? "dependencies" : field;
    manifest[place] = { ...manifest[place], ioredis: spec };
  };
  if (present !== spec) {
    const lines = [...(present === undefined ? [] : [`- "ioredis": "${present}"`]), `+ "ioredis": "${spec}"`];
    planManifest(project, plan, change, lines);
  }
  if (present === spec) plan.isMoved = true;
  if (field !== undefined && !plan.isMoved) {
    plan.notes.push({
      text: 'import all names from "ioredis", including those that only sluice exports, such as mayHaveRun. Tracing is in "ioredis/otel", the test kit in the package sluice-testing',
      link: "moving-from-ioredis.md",
    });
  }
  if (!isNeeded) return;
  planOverride(project, plan, spec);
  planLock(project, plan);
  if (dependants?.length > 0 && plan.edits.length > 0) {
    plan.notes.push({
      text: `packages that depend on ioredis, and need the override: ${dependants.join(", ")}`,
      link: "moving-from-ioredis.md#packages-with-their-own-ioredis",
    });
  }
}
