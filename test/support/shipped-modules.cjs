/**
 * The modules of `src` as they are inside the built package. With SLUICE_TARGET=built every file
 * of build/src hands over to this one, so that tests run on what is shipped and still reach its
 * insides: behind the code of each built file come accessors to what its modules declare, in the
 * scope of that file. The code itself stays as it is.
 */

const { readdirSync, readFileSync } = require("node:fs");
const { join, resolve } = require("node:path");

const built = resolve(__dirname, "..", "..", "built");
const MODULE_START = /^\/\/ src\/(.+)\.ts$/;
const DECLARATION = /^(?:async )?(var|let|const|class|function\*?) ([\w$]+)/;
const SETTERS = Symbol.for("sluice.setters");
/** The tools of the tests themselves: they start servers and cut lines, whatever is in the package. */
const TOOLS = /^testing\/(?:real\/|faults\/(?:fault-proxy|wire-record)$)/;
/** The entries of the package. */
const ENTRIES = { index: "index.js", "testing/index": "testing.js", "testing/mock": "testing-mock.js" };
/** Folders of `src` that are bundled for themselves. */
const WITH_COPIES = ["testing", "otel"];
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
  if (!name.endsWith(".js")) continue;
  const path = join(built, name);
  const modules = modulesIn(readFileSync(path, "utf8"));
  // The test kit and the tracer have copies of their own of what they need of the client.
  const folder = WITH_COPIES.find((one) => name.startsWith(one));
  for (const module of modules.keys()) {
    if (folder !== WITH_COPIES.find((one) => module.startsWith(`${one}/`))) modules.delete(module);
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
 * @param {string} module path in src, without its ending
 * @returns {object | null} its exports; null if it is to be taken from build/src
 */
module.exports = (module) => {
  if (TOOLS.test(module)) return null;
  const entry = ENTRIES[module];
  if (entry !== undefined) return require(join(built, entry));
  const path = fileOf.get(module);
  if (path === undefined) throw new Error(`Nothing of src/${module}.ts is in the package`);
  const part = require(path);
  if (LATE.test(path)) part(require(CORE));
  return watched(module, shipped[module]);
};
