/**
 * The modules of `src` as they are inside the built package. With SLUICE_TARGET=built every file
 * of build/src hands over to this module, so that tests run on what is shipped and still reach its
 * insides: behind the code of each built file come accessors to what its modules declare, in the
 * scope of that file. The code itself stays as it is.
 */

const { readdirSync, readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");

const checkout = resolve(__dirname, "..", "..");
const built = join(checkout, "built");
const testKit = join(checkout, "testing", "built");
const MODULE_START = /^\/\/ src\/(.+)\.ts$/;
const DECLARATION = /^(?:async )?(var|let|const|class|function\*?) ([\w$]+)/;
const SETTERS = Symbol.for("sluice.setters");
/** The entries of the packages. Tests of the test kit's other modules run on the compiled ones. */
const ENTRIES = {
  "src/index": join(built, "index.js"),
  "testing/src/index": join(testKit, "index.js"),
  "testing/src/mock-of": join(testKit, "mock-of.js"),
};
/** A folder of `src` that is bundled for itself. */
const WITH_COPIES = "otel";
/** A part that is loaded late is a function of this file, and its code ends in this way: scripts/build.mjs. */
const CORE = join(built, "core.js");
const LATE = /[\\/]built[\\/]late[\\/]/;
const LATE_END = "\n}\n";
/** What interop code asks a module for. */
const NOT_NAMES = ["__esModule", "default", "then"];

/** @type {Record<string, object>} filled by the built files themselves */
const shipped = {};
globalThis[Symbol.for("sluice.shipped")] = shipped;

/** Where a module ended up, and what it declares there: the bundler marks its beginning by a comment. */
function modulesIn(text) {
  const modules = new Map();
  let names = null;
  for (const line of text.split("\n")) {
    const start = MODULE_START.exec(line);
    if (start !== null) {
      names = modules.get(start[1]) ?? new Map();
      modules.set(start[1], names);
    }
    const [, kind, name] = DECLARATION.exec(line) ?? [];
    // A name that two modules have gets a number in the second one.
    if (names !== null && name !== undefined) names.set(name.replace(/\$\d+$/, ""), { kind, name });
  }
  return modules;
}

function accessors([module, names]) {
  const lines = [...names].map(([original, { kind, name }]) => {
    const get = `get ${original}() { return ${name}; }`;
    return kind === "const" ? get : `${get}, set ${original}(value) { ${name} = value; }`;
  });
  return `${JSON.stringify(module)}: { ${lines.join(", ")} }`;
}

const fileOf = new Map();
const ends = new Map();
for (const name of readdirSync(built, { recursive: true, encoding: "utf8" })) {
  if (!name.endsWith(".js") || name.startsWith("modules")) continue;
  const path = join(built, name);
  const modules = modulesIn(readFileSync(path, "utf8"));
  // The tracer has copies of its own of what it needs of the client.
  for (const module of modules.keys()) {
    if (name.startsWith(WITH_COPIES) !== module.startsWith(`${WITH_COPIES}/`)) modules.delete(module);
  }
  for (const module of modules.keys()) fileOf.set(module, path);
  const entries = [...modules].map(accessors).join(", ");
  ends.set(path, `\n;Object.assign(globalThis[Symbol.for("sluice.shipped")], { ${entries} });\n`);
}

const load = require.extensions[".js"];
require.extensions[".js"] = (module, path) => {
  const end = ends.get(path);
  if (end === undefined) return load(module, path);
  const compile = module._compile;
  module._compile = function (code, ...rest) {
    const at = LATE.test(path) ? code.lastIndexOf(LATE_END) : code.length;
    return compile.call(this, code.slice(0, at) + end + code.slice(at), ...rest);
  };
  return load(module, path);
};

function watched(module, names) {
  return new Proxy(names, {
    get(target, name) {
      if (name === SETTERS) return target;
      if (typeof name === "symbol" || name in target || NOT_NAMES.includes(name)) return target[name];
      throw new Error(
        `The package has no ${name} of src/${module}.ts: it was left out, or has another name there`,
      );
    },
  });
}

/**
 * @param {string} path path from the checkout, without its ending
 * @returns {object | null} its exports; null if it is to be taken from build/
 */
module.exports = (path) => {
  const entry = ENTRIES[path];
  if (entry !== undefined) return require(entry);
  if (!path.startsWith("src/")) return null;
  const module = path.slice("src/".length);
  const file = fileOf.get(module);
  if (file === undefined) throw new Error(`Nothing of ${path}.ts is in the package`);
  const part = require(file);
  if (LATE.test(file)) part(require(CORE));
  return watched(module, shipped[module]);
};
