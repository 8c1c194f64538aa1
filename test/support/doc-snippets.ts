/**
 * The JavaScript and TypeScript of README.md, AGENTS.md and docs/: taken out of the pages, made into modules
 * and compiled together. Comments of the page above a block steer what is done with it:
 *
 *   <!-- given: const ids = ["1", "2"]; -->   code that the reader has to imagine
 *   <!-- methods: raise -->                   scripts that a block of JavaScript uses as methods
 *   <!-- run -->                              a fragment that is also run, with `redis` connected
 *   <!-- not run: needs a cluster -->         a whole program that is only compiled
 *
 * A block that imports the package is a whole program: it is run and has to end by itself. In
 * blocks that are run, `await redis.get("a"); // "b"` is checked: see `instrument`.
 */

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkoutDirectory } from "../../scripts/servers/cache-directory";
import { guardDirectory } from "../../scripts/servers/orphan-guard";

export interface Snippet {
  /** As `docs/bulk.md:12`, the line of the first line of code. */
  readonly place: string;
  readonly page: string;
  readonly line: number;
  readonly language: "js" | "ts";
  readonly code: string;
  readonly given: string;
  readonly methods: readonly string[];
  /** Imports or requires the package itself. */
  readonly isWhole: boolean;
  readonly isRun: boolean;
}

const LANGUAGES: Readonly<Record<string, Snippet["language"]>> = {
  js: "js",
  javascript: "js",
  mjs: "js",
  ts: "ts",
  typescript: "ts",
};
const REFERENCE = join("docs", "api.md");
const WHOLE = /^\s*(?:import .* from "sluice"|const .* = require\("sluice"\))/m;

/** The names that blocks may use without saying where they come from. */
const NAMES = `import type sluice = require("sluice");
declare global {
  var Redis: typeof sluice.Redis;
  var Cluster: typeof sluice.Cluster;
  var redis: sluice.Redis;
  var cluster: sluice.Cluster;
  var pipeline: sluice.ChainableCommander;
  var readFileSync: typeof import("node:fs").readFileSync;
  function $expect(place: string, actual: unknown, expected: unknown): void;
}
`;

/** Pages with code for users, as paths from the checkout. */
export function documentedPages(): string[] {
  const pages = ["docs", join("testing", "docs")].flatMap((folder) =>
    readdirSync(join(checkoutDirectory(), folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name)),
  );
  return ["README.md", "AGENTS.md", ...pages.sort()];
}

export function snippetsOf(page: string): Snippet[] {
  const lines = readFileSync(join(checkoutDirectory(), page), "utf8").split("\n");
  const found: Snippet[] = [];
  for (let index = 0; index < lines.length; index++) {
    const fence = /^( *)```(\w*)/.exec(lines[index] ?? "");
    if (fence === null) continue;
    const end = lines.findIndex((line, at) => at > index && line.trim() === "```");
    if (end < 0) throw new Error(`${page}:${index + 1}: a block without an end`);
    const language = LANGUAGES[fence[2] ?? ""];
    // The reference shows signatures as TypeScript; they come from the compiler itself.
    if (language !== undefined && !(language === "ts" && page === REFERENCE)) {
      const code = lines.slice(index + 1, end).map((line) => line.slice(fence[1]?.length ?? 0));
      found.push(makeSnippet(page, index + 2, language, code.join("\n"), directivesAbove(lines, index)));
    }
    index = end;
  }
  return found;
}

export function allSnippets(): Snippet[] {
  return documentedPages().flatMap(snippetsOf);
}

function directivesAbove(lines: readonly string[], fence: number): string[] {
  const directives: string[] = [];
  for (let at = fence - 1; at >= 0; at--) {
    const text = lines[at]?.trim() ?? "";
    if (text === "") continue;
    const directive = /^<!-- (.+) -->$/.exec(text)?.[1];
    if (directive === undefined) break;
    directives.unshift(directive);
  }
  return directives;
}

function makeSnippet(
  page: string,
  line: number,
  language: Snippet["language"],
  code: string,
  directives: readonly string[],
): Snippet {
  const valuesOf = (word: string): string[] =>
    directives.filter((text) => text.startsWith(`${word}: `)).map((text) => text.slice(word.length + 2));
  const given = valuesOf("given").join(" ");
  const methods = valuesOf("methods").flatMap((names) => names.split(", "));
  const isWhole = WHOLE.test(code);
  const isExempt = directives.some((directive) => directive.startsWith("not run: "));
  const isRun = (isWhole && !isExempt) || directives.includes("run");
  return { place: `${page}:${line}`, page, line, language, code, given, methods, isWhole, isRun };
}

// --- what a line says it gives -------------------------------------------------------------------

const NAMED = /^\s*(?:const|let) (\w+|\[[\w, ]+\])(?:: [^=]+)? = /;
const LOGGED = /^console\.log\((.*)\)$/;
/** Statements that no check can be put around. */
const STATEMENT =
  /^(?:const|let|var|return|throw|import|export|for|if|while|class|function|type)\b|^[.})\]/]/;

/** The comment, or what stands before its first semicolon, as an expression if it is a value and not words. */
function valueIn(comment: string): string | null {
  if (!/^[[{"'\d-]|^(?:true|false|null|undefined)\b/.test(comment)) return null;
  for (const text of [comment, comment.split(";")[0] ?? ""]) {
    try {
      new Function(`"use strict"; return (${text});`)();
      return text;
    } catch {
      // Words.
    }
  }
  return null;
}

/**
 * Adds a check wherever a comment at the end of a line, or alone below a statement that ends in
 * one, is the value of what stands before it. Lines keep their numbers.
 */
export function instrument(snippet: Snippet): { code: string; checks: number } {
  let checks = 0;
  /** The names that the statement being read assigns to. */
  let name: string | undefined;
  const lines = snippet.code.split("\n").map((line, index) => {
    const [, indent = "", code = "", comment] = /^(\s*)(.*?);?(?:\s*\/\/ (.+))?$/.exec(line) ?? [];
    if (code !== "" && !/^[.)\]}]/.test(code)) name = NAMED.exec(line)?.[1];
    const value = comment === undefined ? null : valueIn(comment);
    const check = (actual: string): string => {
      checks++;
      return `$expect("${snippet.page}:${snippet.line + index}", ${actual}, (${value}));`;
    };
    if (value === null) return line;
    if (name !== undefined)
      return code === "" ? `${check(name)} // ${comment}` : `${indent}${code}; ${check(name)}`;
    if (code === "" || STATEMENT.test(code)) return line;
    return indent + check(LOGGED.exec(code)?.[1] ?? code);
  });
  return { code: lines.join("\n"), checks };
}

// --- compiling -----------------------------------------------------------------------------------

/** Groups of tests that run side by side compile the same snippets. */
const directory = join(checkoutDirectory(), "build", "doc-snippets", String(process.pid));

function fileName({ page, line, language, code }: Snippet): string {
  const base = `${page.replace(/\W+/g, "-")}-${line}`;
  return `${base}.${code.includes("require(") ? "c" : "m"}${language}`;
}

/** Where the compiled form of a snippet is. */
export function compiledFile(snippet: Snippet): string {
  return join(directory, "out", fileName(snippet).replace(/ts$/, "js"));
}

function project(files: readonly string[], isStrict: boolean): string {
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023", "esnext.disposable"],
    module: "nodenext",
    moduleResolution: "nodenext",
    strict: isStrict,
    allowJs: true,
    checkJs: true,
    skipLibCheck: true,
    rootDir: "in",
    outDir: "out",
    types: ["node"],
  };
  return JSON.stringify({ compilerOptions, include: [...files, "names.d.ts"].map((file) => `in/${file}`) });
}

/** Blocks of TypeScript declare their methods themselves, as readers have to. */
function methodsOf(snippets: readonly Snippet[]): string {
  const names = new Set(snippets.flatMap(({ methods }) => methods));
  const lines = [...names].map((name) => `    ${name}(...args: any[]): Result<any, Context>;\n`);
  const body = `  interface RedisCommander<Context> {\n${lines.join("")}  }\n`;
  return `import type { Result } from "sluice";\ndeclare module "sluice" {\n${body}}\n`;
}

/** Compiles all snippets; the complaints of the compiler, by place. */
export async function compileSnippets(snippets: readonly Snippet[]): Promise<Map<string, string[]>> {
  guardDirectory(directory);
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, "in"), { recursive: true });
  writeFileSync(join(directory, "in", "names.d.ts"), NAMES);
  writeFileSync(join(directory, "in", "methods.d.ts"), methodsOf(snippets));
  writeFileSync(join(directory, "js.json"), project(["*.?js", "methods.d.ts"], false));
  writeFileSync(join(directory, "ts.json"), project(["*.?ts"], true));
  const byFile = new Map<string, Snippet>();
  for (const snippet of snippets) {
    const code = snippet.isRun ? instrument(snippet).code : snippet.code;
    byFile.set(fileName(snippet), snippet);
    // One line above the code, and a mark that makes every file a module.
    const end = fileName(snippet).includes(".m") ? "export {};" : "";
    writeFileSync(join(directory, "in", fileName(snippet)), `${snippet.given}\n${code}\n${end}\n`);
  }
  const complaints = new Map<string, string[]>();
  for (const text of [await compile("js.json"), await compile("ts.json")]) {
    for (const [, file = "", line = "", message = ""] of text.matchAll(/^in\/(\S+?)\((\d+),\d+\): (.+)$/gm)) {
      const snippet = byFile.get(file);
      const place = snippet === undefined ? file : snippet.place;
      const where = snippet === undefined ? line : snippet.line + Number(line) - 2;
      complaints.set(place, [...(complaints.get(place) ?? []), `line ${where}: ${message}`]);
    }
    if (/^error /m.test(text)) throw new Error(text);
  }
  return complaints;
}

function compile(projectFile: string): Promise<string> {
  const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");
  return new Promise((resolve) => {
    execFile(process.execPath, [tsc, "-p", projectFile], { cwd: directory }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
