/**
 * Reads every import of `src`, type-only ones too, and holds them against the layers of the
 * house: a room knows only what lies below it, rooms of the feature layer do not know one
 * another, nothing goes in circles, and no file has two jobs' worth of lines.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join, posix, sep } from "node:path";
import { expect } from "chai";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";

const MAX_LINES = 600;
const FEATURE_LAYER = 5;
/** The files of `src` itself: what lies at the bottom, and the public doors on top of everything. */
const BOTTOM_FILES = ["errors.ts"];
const TOP_FILES = ["index.ts", "Command.ts"];

/** Rooms and their layers. */
const ROOMS: Readonly<Record<string, number>> = {
  util: 0,
  protocol: 1,
  command: 2,
  observability: 2,
  connection: 3,
  link: 4,
  cluster: FEATURE_LAYER,
  sentinel: FEATURE_LAYER,
  pipeline: FEATURE_LAYER,
  scripting: FEATURE_LAYER,
  caching: FEATURE_LAYER,
  streaming: FEATURE_LAYER,
  client: 6,
  utils: 7,
};
/** Features hold a `Dispatcher` and nothing above it. */
const FEATURES = ["pipeline", "scripting", "caching", "streaming"];
const HIGHEST_LAYER_OF_FEATURES = 2;
const TOP_LAYER = 7;

const source = join(checkoutDirectory(), "src");
const NAMES = String.raw`(?<names>(?:type\s+)?[\w$*\s{},]+?)`;
const FROM = new RegExp(String.raw`^\s*(?:import|export)\s+${NAMES}\s*from\s*["'](?<path>[^"']+)["']`, "gm");
const BARE = /^\s*import\s*["'](?<path>[^"']+)["']|\b(?:import|require)\(\s*["'](?<called>[^"']+)["']\s*\)/gm;

interface Import {
  /** Inside `src`, with its extension. */
  readonly path: string;
  readonly isTypeOnly: boolean;
}

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

function* importsOf(text: string): Generator<Import> {
  for (const { groups } of text.matchAll(FROM)) {
    const names = groups?.["names"] ?? "";
    const inBraces = /^\{([^}]*)\}$/
      .exec(names.trim())?.[1]
      ?.split(",")
      .filter((name) => name.trim() !== "");
    const isTypeOnly = /^type\s/.test(names) || (inBraces?.every((name) => /^\s*type\s/.test(name)) ?? false);
    yield { path: groups?.["path"] ?? "", isTypeOnly };
  }
  for (const { groups } of text.matchAll(BARE)) {
    yield { path: groups?.["path"] ?? groups?.["called"] ?? "", isTypeOnly: false };
  }
}

function resolveImport(from: string, specifier: string, all: ReadonlySet<string>): string {
  const base = posix.join(posix.dirname(from), specifier.replace(/\.js$/, ""));
  const found = [`${base}.ts`, `${base}/index.ts`].find((candidate) => all.has(candidate));
  if (found === undefined) throw new Error(`${from} imports ${specifier}, which is not in src`);
  return found;
}

function readSources(): SourceFile[] {
  const paths = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => path.split(sep).join("/"));
  const all = new Set(paths);
  return paths.map((path) => {
    const text = readFileSync(join(source, path), "utf8");
    const found = [...importsOf(withoutComments(text))].filter(({ path: to }) => to.startsWith("."));
    return {
      path,
      text,
      imports: found.map((one) => ({ ...one, path: resolveImport(path, one.path, all) })),
    };
  });
}

function roomOf(path: string): string {
  return path.includes("/") ? (path.split("/")[0] ?? "") : "";
}

function layerOf(path: string): number {
  if (BOTTOM_FILES.includes(path)) return 0;
  if (TOP_FILES.includes(path)) return TOP_LAYER;
  const layer = ROOMS[roomOf(path)];
  if (layer === undefined) throw new Error(`${path} is in no known room`);
  return layer;
}

/** Why `from` must not import `to`, or null. */
function objection(from: string, to: string): string | null {
  const [fromRoom, toRoom] = [roomOf(from), roomOf(to)];
  if (fromRoom === toRoom && fromRoom !== "") return null;
  const [fromLayer, toLayer] = [layerOf(from), layerOf(to)];
  if (toLayer > fromLayer) return "upward";
  if (fromLayer === FEATURE_LAYER && toLayer === FEATURE_LAYER) return "between rooms of the feature layer";
  if (FEATURES.includes(fromRoom) && toLayer > HIGHEST_LAYER_OF_FEATURES)
    return "a feature above its Dispatcher";
  return null;
}

/** The first circle found, as a path that ends where it began. */
function findCycle(edges: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (node: string): string[] | null => {
    const at = path.indexOf(node);
    if (at >= 0) return [...path.slice(at), node];
    if (done.has(node)) return null;
    path.push(node);
    for (const next of edges.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle !== null) return cycle;
    }
    path.pop();
    done.add(node);
    return null;
  };
  for (const node of edges.keys()) {
    const cycle = visit(node);
    if (cycle !== null) return cycle;
  }
  return null;
}

describe("layers", () => {
  const files = readSources();

  it("finds the imports", () => {
    const index = files.find(({ path }) => path === "index.ts");
    expect(index?.imports.map(({ path }) => path)).to.include("client/redis.ts");
    expect(files.reduce((sum, { imports }) => sum + imports.length, 0)).to.be.greaterThan(files.length);
  });

  it("has no import against the layers", () => {
    const wrong: string[] = [];
    for (const { path, imports } of files) {
      for (const { path: target } of imports) {
        const reason = objection(path, target);
        if (reason !== null) wrong.push(`${path} -> ${target} (${reason})`);
      }
    }
    expect(wrong).to.deep.equal([]);
  });

  it("has no circle between rooms", () => {
    const edges = new Map<string, string[]>();
    for (const { path, imports } of files) {
      const targets = imports
        .map((one) => roomOf(one.path))
        .filter((room) => room !== roomOf(path) && room !== "");
      edges.set(roomOf(path), [...(edges.get(roomOf(path)) ?? []), ...targets]);
    }
    expect(findCycle(edges)?.join(" -> ") ?? "none").to.equal("none");
  });

  it("has no circle between files, but for types", () => {
    const edges = new Map<string, string[]>();
    for (const { path, imports } of files) {
      edges.set(
        path,
        imports.filter(({ isTypeOnly }) => !isTypeOnly).map((one) => one.path),
      );
    }
    expect(findCycle(edges)?.join(" -> ") ?? "none").to.equal("none");
  });

  it("keeps every file under its ceiling", () => {
    const long = files
      .filter(({ path }) => !path.includes("/generated/"))
      .map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
      .filter(({ lines }) => lines > MAX_LINES);
    expect(long).to.deep.equal([]);
  });

  it("sees what it must object to", () => {
    expect(objection("link/link.ts", "client/redis.ts")).to.equal("upward");
    expect(objection("cluster/router.ts", "pipeline/pipeline.ts")).to.match(/between rooms/);
    expect(objection("pipeline/pipeline.ts", "link/link.ts")).to.match(/above its Dispatcher/);
    expect(objection("link/link.ts", "connection/connection.ts")).to.equal(null);
    expect(
      findCycle(
        new Map([
          ["a", ["b"]],
          ["b", ["a"]],
        ]),
      ),
    ).to.deep.equal(["a", "b", "a"]);
    const text =
      'import { a } from "./a";\nexport type { B } from "./b";\nimport { type C } from "./c";\nimport "./d";';
    expect([...importsOf(text)]).to.deep.equal([
      { path: "./a", isTypeOnly: false },
      { path: "./b", isTypeOnly: true },
      { path: "./c", isTypeOnly: true },
      { path: "./d", isTypeOnly: false },
    ]);
  });
});
