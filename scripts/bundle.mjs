/**
 * Puts the compiled files into one, because opening and resolving 140 files costs more than half
 * of the time that loading takes (docs/decisions/0007-one-file.md). Each file stays a function of
 * its own, run when it is first required, as Node does it; the code itself is not
 * changed, only what the compiler puts at the head of each and around calls from one to another.
 */

import { readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";

const STRICT = /^"use strict"\n/;
const MODULE_MARK = /^Object\.defineProperty\(exports, "__esModule", \{ value: true \}\)\n/m;
/** `exports.a = exports.b = void 0`: what is not there is undefined in any case. */
const ANNOUNCEMENT = /^(?:exports\.\w+ =\s+)+void 0\n/m;
/** Functions are exported one after the other at the head of a file. */
const EXPORTS = /^(?:exports\.(\w+) = \1\n){2,}/gm;
/** No function of a module looks at its `this`. */
const CALL = /\(0, (\w+_\d+\.\w+)\)\(/g;
const RELATIVE_REQUIRE = /\brequire\("(\.\.?\/[^"]+)"\)/g;
/** What the compiler makes of `export { ... } from`. */
const RE_EXPORT = /^var (\w+) = (load\("[^"]+"\))\n/gm;
const STATIC_LOAD = /^(?:const|var) \w+ = load\("([^"]+)"\)$/gm;
/** The class that is loaded in any case; what it needs is compiled at once, everything else when it is asked for. */
const CORE = "client/redis";

function scriptsIn(directory) {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".js"))
    .map((path) => path.replaceAll("\\", "/"))
    .sort();
}

/** Name of the file that a require leads to, relative to the built directory and without its ending. */
function resolve(from, request, known) {
  const target = posix.join(posix.dirname(from), request).replace(/\.js$/, "");
  for (const candidate of [target, `${target}/index`]) if (known.has(candidate)) return candidate;
  throw new Error(`${from} requires ${request}, which was not compiled`);
}

/** What the compiler puts at the head of each file: the whole is strict, and only entries are imported from outside. */
function withoutHead(code, isEntry) {
  const body = code.replace(STRICT, "").replace(ANNOUNCEMENT, "").replace(CALL, "$1(");
  return isEntry ? body : body.replace(MODULE_MARK, "").replace(EXPORTS, exportedTogether);
}

function exportedTogether(lines) {
  const names = Array.from(lines.matchAll(/^exports\.(\w+)/gm), ([, name]) => name);
  return `Object.assign(exports, { ${names.join(", ")} })\n`;
}

/** The compiler writes `exports.NAME` wherever a file uses a constant of its own. */
function withOwnNames(code) {
  const constants = code.matchAll(/^exports\.([A-Z]\w*) = (?!\1\n)/gm);
  let text = code;
  for (const [statement, name] of Array.from(constants)) {
    const uses = new RegExp(`\\bexports\\.${name}\\b(?! = )`, "g");
    if ((text.match(uses) ?? []).length < 3) continue;
    text = text.replace(uses, name).replace(statement, `const ${name} = ${statement}`);
  }
  return text;
}

function codeOf(built, path, { known, isEntry }) {
  const source = withoutHead(readFileSync(join(built, path), "utf8"), isEntry);
  const code = source.replace(RELATIVE_REQUIRE, (_, request) => {
    return `load(${JSON.stringify(resolve(path, request, known))})`;
  });
  return inAscii(isEntry ? withLazyExports(code.trim()) : withOwnNames(code.trim()));
}

/** A single character beyond Latin-1 would make V8 hold and read the whole file with two bytes a character. */
function inAscii(code) {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** What is only passed on is loaded when it is first asked for. */
function withLazyExports(code) {
  const passedOn = new Map();
  const rest = code.replace(RE_EXPORT, (_, name, call) => {
    passedOn.set(name, call);
    return "";
  });
  return rest.replace(/\breturn (\w+)\./g, (text, name) => {
    return passedOn.has(name) ? `return ${passedOn.get(name)}.` : text;
  });
}

/** A file and all that it loads at once, with what these load at once. */
function withDependencies(id, codes, found = new Set()) {
  if (found.has(id)) return found;
  found.add(id);
  for (const [, next] of codes.get(id).matchAll(STATIC_LOAD)) withDependencies(next, codes, found);
  return found;
}

/** V8 compiles a function in parentheses while it reads it; others are read twice if they run. */
function definition(id, code, isRunAtOnce) {
  const name = JSON.stringify(id);
  // Few files look at `module`.
  const names = /\bmodule\b/.test(code) ? "exports, module" : "exports";
  return isRunAtOnce ? `${name}: (function (${names}) {\n${code}\n}),` : `${name}(${names}) {\n${code}\n},`;
}

const LOADER = [
  "const loaded = new Map();",
  "function load(id) {",
  "\tlet module = loaded.get(id);",
  "\tif (module === undefined) {",
  "\t\tmodule = { exports: {} };",
  "\t\tloaded.set(id, module);",
  "\t\tfiles[id](module.exports, module);",
  "\t}",
  "\treturn module.exports;",
  "}",
  "exports.load = load;",
];

function writeEntry(built, path, names) {
  const bundle = posix.join(relative(dirname(path), "."), "bundle.js");
  const request = bundle.startsWith(".") ? bundle : `./${bundle}`;
  const lines = [
    '"use strict";',
    `exports = module.exports = require(${JSON.stringify(request)}).load(${JSON.stringify(path.replace(/\.js$/, ""))});`,
    "// Never run: tells Node which names import { ... } may use.",
    ...names.map((name) => `0 && (exports.${name} = 0);`),
    "",
  ];
  writeFileSync(join(built, path), lines.join("\n"));
}

function removeEmptyDirectories(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) removeEmptyDirectories(join(directory, entry.name));
  }
  if (readdirSync(directory).length === 0) rmdirSync(directory);
}

/** What the compiler calls `errors_1` is `errors$` here: one character less, 1,600 times. */
function withShortImports(code) {
  return code.replace(/\b([a-z]\w*)_1\b/g, "$1$$");
}

/** Imports that follow each other are one statement. */
function withJoinedImports(code) {
  const statements = /^(?:const [a-z]\w*\$ = load\("[^"]+"\)\n){2,}/gm;
  return code.replace(statements, (block) => block.replaceAll(")\nconst ", "),\n"));
}

/** The first level of indentation says nothing here; it is 10 KB. */
function withLessIndentation(code) {
  const texts = code.match(/`(?:[^`\\]|\\.)*`/g) ?? [];
  if (texts.some((text) => text.includes("\n"))) throw new Error("A text of several lines would change");
  return code.replace(/^\t/gm, "");
}

/** Files are called by their last name where that is enough. */
function withShortIds(code, known) {
  const lastOf = (id) => id.slice(id.lastIndexOf("/") + 1);
  const bearers = new Map();
  for (const id of known) bearers.set(lastOf(id), (bearers.get(lastOf(id)) ?? 0) + 1);
  return code.replace(/(^|\bload\()"([\w/-]+)"(?=: \(function|\(exports|\))/gm, (text, before, id) => {
    return known.has(id) && bearers.get(lastOf(id)) === 1 ? `${before}"${lastOf(id)}"` : text;
  });
}

/**
 * @param {string} built directory of the compiled files
 * @param {Record<string, string[]>} entries files that stay, each with its exported names
 */
export function bundle(built, entries) {
  const paths = scriptsIn(built);
  const known = new Set(paths.map((path) => path.replace(/\.js$/, "")));
  const codes = new Map();
  for (const path of paths) {
    codes.set(path.replace(/\.js$/, ""), codeOf(built, path, { known, isEntry: path in entries }));
  }
  const core = withDependencies(CORE, codes);
  const files = [...codes].map(([id, code]) => definition(id, code, core.has(id)));
  for (const path of paths) rmSync(join(built, path));
  const code = ['"use strict";', "const files = {", ...files, "};", ...LOADER, ""].join("\n");
  const short = withJoinedImports(withShortImports(withShortIds(code, known)));
  writeFileSync(join(built, "bundle.js"), withLessIndentation(short));
  for (const [path, names] of Object.entries(entries)) writeEntry(built, path, names);
  removeEmptyDirectories(built);
}
