/**
 * Builds the package into built/: the code by rolldown (docs/decisions/0012-bundler.md), the declarations by
 * the compiler. `--code` leaves the declarations as they are.
 *
 * core.js contains the code that every client needs. An option or a call loads the files in late/ that it
 * needs. index.js is the class, with the named exports on it. Every other file is a public sub-path that
 * re-exports names of these, so that there is one copy of each class. modules/ has the same sources as ES
 * modules, for bundlers.
 */

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, posix, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { RolldownMagicString, rolldown } from "rolldown";
import { parseSync, Visitor } from "rolldown/utils";
import { writeClientSurface } from "../migrate/build.mjs";
import { buildTestKit, buildTestKitDeclarations } from "../testing/build.mjs";
import { isStale, READABLE_CODE, writeDeclarations } from "./bundle.mjs";
import { checkout, mustRun, toolPath } from "./run-command.mjs";

const source = join(checkout, "src");
const subpaths = join(source, "subpaths");
/** One module for each late part; in a bundle, importing it provides the part. */
const withParts = join(source, "with");
const built = join(checkout, "built");
const LATE_DIRECTORY = "late";
/**
 * Parts that only some programs need, with the file that each becomes. An option or a call asks for each of them; what
 * a client may need when something fails is not among them, because files may then be out of reach.
 */
const LATE = Object.fromEntries(
  Object.entries({
    "client/caching": "client-cache",
    "client/cluster/cluster": "cluster-client",
    "client/command-limits": "command-limits",
    "client/consumers/consume": "consumers",
    "client/leases/leasing": "leases",
    "client/streaming/message-readers": "messages",
    "client/locks/lock": "locks",
    "client/legacy-command": "legacy-command",
    "client/options/cluster-options": "cluster-options",
    "client/pipeline-trace": "pipeline-trace",
    "client/replicas/client-replicas": "replicas",
    "cluster/cluster-errors": "cluster-errors",
    "command/effects": "effects",
    "connection/socket-timeout": "socket-timeout",
    "failover/failover-connector": "failover",
    "leases/lease-errors": "lease-errors",
    "link/admission": "admission",
    "link/reader-choice": "reader-choice",
    "link/unblocker": "unblocker",
    "maintenance/mover": "maintenance",
    "merging/merger": "merging",
    "modules/methods": "module-methods",
    "pipeline/auto-pipeliner": "auto-pipeliner",
    "pipeline/bulk": "bulk",
    "replicas/own-writes": "own-writes",
    "sentinel/sentinel-connector": "sentinel-connector",
    "sentinel/sentinel-list": "sentinel-list",
    "streaming/scan-stream": "scan-stream",
    "util/deadlines": "deadlines",
  }).map(([module, file]) => [module, `${LATE_DIRECTORY}/${file}`]),
);
const CORE = "core";
const ENTRY = "index";
const ENTRY_MODULE = "sluice:entry";

function nameIn(node) {
  return node.name ?? node.value;
}

/** The exports of a module in src that exist at run time: name, name in its module, module. */
function exportsOf(module) {
  const path = join(source, `${module}.ts`);
  const { program } = parseSync(path, readFileSync(path, "utf8"));
  const found = [];
  for (const { type, exportKind, source: from, declaration, specifiers } of program.body) {
    if (exportKind === "type") continue;
    if (type === "ExportAllDeclaration") found.push(...exportsOf(from.value.slice(2)));
    if (type !== "ExportNamedDeclaration") continue;
    if (declaration?.id) found.push({ name: declaration.id.name, local: declaration.id.name, module });
    for (const { exported, local, exportKind: kind } of specifiers) {
      if (kind !== "type")
        found.push({ name: nameIn(exported), local: nameIn(local), module: from.value.slice(2) });
    }
  }
  return found;
}

/** The code that is needed at once, as one module; everything late is left to the end of index.js. */
function entryCode(names) {
  return names
    .filter(({ module }) => !(module in LATE))
    .map(({ name, local, module }) => {
      return `export { ${local} as ${name} } from ${JSON.stringify(join(source, module))};`;
    })
    .join("\n");
}

/** Never run: tells Node, which reads CommonJS without running it, which names `import { ... }` may use. */
function namesForImport(names) {
  return `0 && (module.exports = {\n\t${names.join(",\n\t")}\n});`;
}

/** Makes the class what require() gives, and lists the names for those who read CommonJS without running it. */
function entryEnd(names) {
  const late = names.filter(({ module }) => module in LATE);
  const files = new Set(late.map(({ module }) => LATE[module]));
  return [
    "const Redis = exports.Redis;",
    'Object.defineProperty(Redis, "__esModule", { value: true });',
    "Object.assign(Redis, exports, { default: Redis });",
    "const addLate = (names, load) => {",
    "\tfor (const [name, own] of Object.entries(names))",
    "\t\tObject.defineProperty(Redis, name, { enumerable: true, configurable: true, get: () => load()[own] });",
    "};",
    ...[...files].map((file) => {
      const own = late.filter(({ module }) => LATE[module] === file);
      const list = own.map(({ name, local }) => `${name}: "${local}"`).join(", ");
      return `addLate({ ${list} }, () => require("./${file}.js"));`;
    }),
    "exports = module.exports = Redis;",
    "// Tracers that rewrite source text look for sendCommand there.",
    'require("./Redis.js");',
    "// Never run: tells Node which names import { ... } may use.",
    "0 && (exports.default = 0);",
    namesForImport(names.map(({ name }) => name)),
  ].join("\n");
}

/** require() of a late part stays what it is, and import of it from the entry does not happen. */
function latePlugin(names, late = LATE) {
  const lateFiles = new Map(
    Object.entries(late).map(([module, file]) => [join(source, `${module}.ts`), file]),
  );
  return {
    name: "late-parts",
    resolveId(specifier, importer, { kind }) {
      if (specifier === ENTRY_MODULE) return specifier;
      if (importer === undefined || !specifier.startsWith(".")) return null;
      // Also what only passes a late part on must not draw it into the core.
      if (kind !== "require-call" && !importer.startsWith(subpaths)) return null;
      const file = lateFiles.get(resolve(importer, "..", `${specifier}.ts`));
      if (file === undefined) return null;
      return { id: `./${file}.js`, external: true };
    },
    load: (id) => (id === ENTRY_MODULE ? entryCode(names) : null),
  };
}

function isExportGetter({ type, expression }) {
  if (type !== "ExpressionStatement" || expression.type !== "CallExpression") return false;
  const [target, , descriptor] = expression.arguments;
  return target?.name === "exports" && descriptor?.type === "ObjectExpression";
}

/**
 * The bundler gives each name that parts share a getter of its own, because a binding could change;
 * none of ours does. One list at the end needs no call for each use of a name, and a tenth of the bytes.
 */
const sharedNamesAsList = (core) => ({
  name: "shared-names-as-list",
  renderChunk(code, { name }) {
    if (name !== core) return null;
    const getters = parseSync(`${name}.js`, code).program.body.filter(isExportGetter);
    const first = getters[0];
    if (first === undefined) return null;
    const names = getters.map(({ expression }) => expression.arguments[1].value);
    const rest = code.slice(getters.at(-1).end);
    if (getters.some(({ start, end }) => code.slice(start, end).includes("return require"))) {
      throw new Error(`a name that ${core}.js passes on has to be a binding of its own`);
    }
    const locals = getters.map(({ expression }) => {
      const get = expression.arguments[2].properties.find(({ key }) => key.name === "get");
      return get.value.body.body[0].argument.name;
    });
    const list = names.map((one, index) => (one === locals[index] ? one : `${one}: ${locals[index]}`));
    return {
      code: `${code.slice(0, first.start)}Object.assign(exports, {\n\t${list.join(",\n\t")}\n});${rest}`,
      map: null,
    };
  },
});

/** The calls of require() that name a late part, and the declarations at the top that hold a part. */
function requiresIn(code, fileName) {
  const { program } = parseSync(fileName, code);
  const calls = [];
  new Visitor({
    CallExpression(node) {
      const [path] = node.arguments;
      if (node.callee.name === "require" && path?.value?.startsWith?.(`./${LATE_DIRECTORY}/`))
        calls.push(node);
    },
  }).visit(program);
  const parts = program.body.filter((node) => {
    const [{ id, init } = {}] = node.declarations ?? [];
    return id?.name?.startsWith("require_") && init?.callee?.name === "require";
  });
  return { calls, parts };
}

/**
 * A late part is a function of the shared exports, and returns the classes that it has created for them. A
 * program may reset its modules while a client exists, as Jest can. With require(), a part would then get
 * other shared classes than the client or the server that loads it. This text is added to the first line of
 * code, so line numbers do not change.
 */
function factoryBegin(shared) {
  return `"use strict"; module.exports = (${shared}) => ${shared}.latePart(fill); function fill(exports, ${shared}) { `;
}
const FACTORY_END = "\n}\n";
/**
 * The shared exports keep the classes of each late part, because two parts may need each other. V8 stores so
 * many exports as a hash table. A copy is an ordinary object, in which a part looks up a name in an eighth of
 * the time.
 */
const LATE_PARTS = `
const lateParts = new Map();
let ownExports = null;
exports.latePart = (fill) => {
\tlet made = lateParts.get(fill);
\tif (made === undefined) {
\t\tlateParts.set(fill, made = {});
\t\tfill(made, ownExports ??= { ...exports });
\t}
\treturn made;
};
`;

/** Makes each late part a factory, and calls it by its place beside the file that asks for it. */
const lateFactories = {
  name: "late-factories",
  renderChunk(code, { fileName, name }) {
    const text = new RolldownMagicString(code);
    const { calls, parts } = requiresIn(code, fileName);
    const directory = posix.dirname(fileName);
    const isLate = directory === LATE_DIRECTORY;
    const corePath = `${posix.relative(directory, ".") || "."}/${CORE}.js`;
    const core = parts.find(({ declarations: [{ init }] }) => init.arguments[0].value === corePath);
    const coreThere =
      name === CORE ? "exports" : isLate || core ? `require_${CORE}` : `require("${corePath}")`;
    for (const {
      arguments: [path],
      end,
    } of calls) {
      const place = posix.relative(directory, path.value);
      text.overwrite(path.start, path.end, JSON.stringify(place.startsWith(".") ? place : `./${place}`));
      text.appendLeft(end, `(${coreThere})`);
    }
    for (const part of parts) {
      const [{ init }] = part.declarations;
      const path = posix.join(directory, init.arguments[0].value);
      if (posix.dirname(path) === LATE_DIRECTORY && !calls.some(({ start }) => start === init.start))
        text.appendLeft(init.end, `(${coreThere})`);
      else if (isLate && part === core) text.remove(part.start, part.end);
    }
    if (name === CORE) text.append(LATE_PARTS);
    if (isLate) text.prepend(factoryBegin(`require_${CORE}`)).append(FACTORY_END);
    return { code: text.toString(), map: JSON.parse(text.generateMap().toString()) };
  },
};

/** The modules of a folder: name of the output, path of the source. */
function entriesIn(directory, prefix = "") {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".ts"),
  );
  return Object.fromEntries(
    files.map((path) => [
      `${prefix}${path.replaceAll("\\", "/").replace(/\.ts$/, "")}`,
      join(directory, path),
    ]),
  );
}

/**
 * Fields are assigned in constructors, as `useDefineForClassFields: false` does. V8 defines the fields of a
 * class body more slowly, and the client creates an object for every command.
 */
const FIELDS_IN_CONSTRUCTORS = {
  target: "es2021",
  assumptions: { setPublicClassFields: true },
  typescript: { removeClassFieldsWithoutInitializer: true },
};

/** @returns {string[]} names that the entry has at run time */
async function writeCode() {
  const { dependencies } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
  const names = exportsOf("index");
  const late = Object.entries(LATE).map(([module, file]) => [file, join(source, `${module}.ts`)]);
  const lateModules = new Set(late.map(([, path]) => path));
  const bundle = await rolldown({
    input: { [ENTRY]: ENTRY_MODULE, ...Object.fromEntries(late), ...entriesIn(subpaths) },
    cwd: checkout,
    platform: "node",
    external: Object.keys(dependencies),
    plugins: [latePlugin(names), sharedNamesAsList(CORE), lateFactories],
    treeshake: { moduleSideEffects: false },
    transform: FIELDS_IN_CONSTRUCTORS,
  });
  await bundle.write({
    ...READABLE_CODE,
    dir: built,
    footer: ({ name }) => (name === ENTRY ? entryEnd(names) : ""),
    minifyInternalExports: false,
    chunkFileNames: "[name].js",
    codeSplitting: {
      groups: [{ debugName: CORE, name: (id) => (lateModules.has(id) ? null : CORE), minShareCount: 2 }],
    },
  });
  await bundle.close();
  return names.map(({ name }) => name);
}

/**
 * The same sources as ES modules, for bundlers: a part that a program does not import is left out. They contain no
 * require(). A module of src/with provides a late part, and modules of Node that load slowly are looked up when they are
 * needed. They are minified, because their readers are bundlers and the package is to stay small.
 */
const MODULES_DIRECTORY = "modules";
const ABSENT = "sluice:absent";
/** Programs and tracers read the names of classes. */
const CLASS_NAMES = { class: true, function: false };
const LOOKED_UP = "sluice:looked-up:";
const withoutRequire = (packages) => ({
  name: "without-require",
  resolveId(specifier, _importer, { kind }) {
    const isOutside = specifier.startsWith("node:") || packages.includes(specifier);
    if (kind !== "require-call") return isOutside ? { id: specifier, external: true } : null;
    return isOutside ? LOOKED_UP + specifier : ABSENT;
  },
  // Without an export, a file of this package is taken for CommonJS.
  transform: (code, id) => (id.startsWith(withParts) ? `${code}\nexport {};` : null),
  load(id) {
    if (id === ABSENT) return "module.exports = null;";
    return id.startsWith(LOOKED_UP) ? lookUp(id.slice(LOOKED_UP.length)) : null;
  },
});

/** A package that is optional at run time is installed beside the program. A bundler does not see it. */
function lookUp(name) {
  if (name.startsWith("node:")) return `module.exports = process.getBuiltinModule("${name}");`;
  return `module.exports = process.getBuiltinModule("node:module").createRequire(process.argv[1])("${name}");`;
}

/** Imports of the entry would bring along what its default export needs: it only passes names on. */
function moduleEntry(names) {
  return `export { ${names.join(", ")} } from "./names.mjs";\nexport { default } from "./default.mjs";\n`;
}

/** Code that is bundled together with the ES modules uses the same class. */
const REQUIRED_MODULE = '"use strict";\nmodule.exports = require("./index.mjs").default;\n';

async function writeModules(names) {
  const { dependencies } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
  const directory = join(built, MODULES_DIRECTORY);
  const bundle = await rolldown({
    input: {
      ...entriesIn(subpaths),
      ...entriesIn(withParts, "with/"),
      ...entriesIn(join(source, "bundles")),
      credentials: join(source, "credentials/index.ts"),
    },
    cwd: checkout,
    platform: "neutral",
    plugins: [withoutRequire(Object.keys(dependencies))],
    treeshake: { moduleSideEffects: (id) => id.startsWith(withParts) },
    transform: FIELDS_IN_CONSTRUCTORS,
  });
  await bundle.write({
    dir: directory,
    format: "es",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name].mjs",
    comments: READABLE_CODE.comments,
    minify: {
      // An import of which nothing is used would stay, and bundlers warn of it.
      compress: { unused: false, keepNames: CLASS_NAMES },
      mangle: { toplevel: true, keepNames: CLASS_NAMES },
      codegen: { removeWhitespace: true },
    },
  });
  await bundle.close();
  writeFileSync(join(directory, "index.mjs"), moduleEntry(names));
  writeFileSync(join(directory, "index.js"), REQUIRED_MODULE);
  // Node loads the parts when they are needed.
  writeFileSync(join(built, "with.js"), '"use strict";\n');
}

/** Packages that stand beside this one: its run-time dependencies, and those that users of the tracer install. */
function externals({ dependencies, peerDependencies = {} }) {
  return [...Object.keys(dependencies), ...Object.keys(peerDependencies)];
}

/** The tracer is a program of its own: the client never loads it, and the tracer never loads the client. */
const TRACER = { otel: "otel/index", "otel-instrumentation": "otel/instrumentation" };
const TRACER_SHARED = "shared";

async function writeTracer() {
  const manifest = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
  const input = Object.entries(TRACER).map(([name, module]) => [name, join(source, `${module}.ts`)]);
  const bundle = await rolldown({
    input: Object.fromEntries(input),
    cwd: checkout,
    platform: "node",
    external: externals(manifest),
    plugins: [sharedNamesAsList(TRACER_SHARED)],
    treeshake: { moduleSideEffects: false },
  });
  await bundle.write({
    ...READABLE_CODE,
    dir: built,
    chunkFileNames: "otel-[name].js",
    codeSplitting: { groups: [{ name: TRACER_SHARED, minShareCount: 2 }] },
  });
  await bundle.close();
}

/** The program behind `sluice top`, with the packages that only it needs. */
async function writeTop() {
  const bundle = await rolldown({
    input: join(checkout, "scripts", "top", "top.mjs"),
    cwd: checkout,
    platform: "node",
    external: ["sluice"],
  });
  await bundle.write({ file: join(built, "top.mjs"), format: "es" });
  await bundle.close();
}

/** The program behind `sluice demo`, with the packages that only it needs. */
async function writeDemo() {
  const bundle = await rolldown({
    input: { installed: join(checkout, "demo", "installed.ts"), crowd: join(checkout, "demo", "crowd.ts") },
    cwd: checkout,
    platform: "node",
    external: ["sluice"],
  });
  await bundle.write({
    dir: join(built, "demo"),
    format: "cjs",
    strict: true,
    minify: true,
    chunkFileNames: "[name].js",
  });
  await bundle.close();
}

/** Logins of managed servers: a file of its own, with the error classes of the client that is installed. */
const CREDENTIALS = { credentials: "credentials/index" };
const clientErrors = {
  name: "client-errors",
  resolveId: (id) => (/\/errors(?:\.ts)?$/.test(id) ? { id: "./index.js", external: true } : null),
};

async function writeCredentials() {
  const bundle = await rolldown({
    input: Object.fromEntries(
      Object.entries(CREDENTIALS).map(([name, module]) => [name, join(source, `${module}.ts`)]),
    ),
    cwd: checkout,
    platform: "node",
    plugins: [clientErrors],
    treeshake: { moduleSideEffects: false },
  });
  await bundle.write({ ...READABLE_CODE, dir: built });
  await bundle.close();
}

/** The same classes as require() gives, under the names of an ES module. */
function writeModuleEntry(names) {
  const main = createRequire(import.meta.url)(join(built, "index.js"));
  for (const name of names)
    if (main[name] === undefined) throw new Error(`${name} is announced but not there`);
  const code = [
    'import sluice from "./index.js";',
    // A bundler leaves out names that nobody imports; reading one of them may load a late part.
    "const read = (name) => sluice[name];",
    ...names.map((name) => `export const ${name} = /* @__PURE__ */ read("${name}");`),
    "export default sluice;",
    "",
  ];
  writeFileSync(join(built, "index.mjs"), code.join("\n"));
  const types = ['export * from "./index.js";', 'export { Redis as default } from "./index.js";', ""];
  writeFileSync(join(built, "index.d.mts"), types.join("\n"));
}

function removeFiles(pattern) {
  if (!existsSync(built)) return;
  for (const path of readdirSync(built, { recursive: true, encoding: "utf8" })) {
    if (pattern.test(path)) rmSync(join(built, path), { force: true });
  }
}

/** Builds the code alone. */
export async function buildCode({ ifStale = false } = {}) {
  if (ifStale && !isStale(join(built, "index.mjs"), [source, import.meta.filename])) return;
  removeFiles(/\.m?js(?:\.map)?$/);
  const names = await writeCode();
  writeModuleEntry(names);
  await writeModules(names);
  await writeTracer();
  await writeCredentials();
  await writeTop();
  await writeDemo();
  writeClientSurface();
}

/** The declarations of each module as the compiler writes them, before they are put together. */
const declarations = join(checkout, "build", "declarations");

/** Nodes of a declaration file, with their place in its text. */
function nodesOf(path, text = readFileSync(path, "utf8")) {
  return { text, body: parseSync(path, text).program.body };
}

/**
 * The end of the declarations: what the other files take from them, and the named exports as static
 * members (`new Redis.Cluster()`, `InstanceType<typeof Redis.Cluster>`).
 */
function withEnd(path, names) {
  const { text, body } = nodesOf(path);
  const lists = body.filter((node) => node.type === "ExportNamedDeclaration" && node.source === null);
  const list = lists.at(-1);
  const locals = new Map(list.specifiers.map((one) => [nameIn(one.exported), nameIn(one.local)]));
  const as = (inside, outside) => (inside === outside ? inside : `${inside} as ${outside}`);
  // Whether a name is a type alone is seen from what it names.
  const all = [...locals].map(([outside, inside]) => as(inside, outside));
  const members = names.map(({ name, local }) => as(locals.get(local), name));
  return [
    text.slice(0, list.start).trimEnd(),
    `export { ${all.join(", ")} };`,
    "/** The named exports, as they are found on the class. */",
    `declare namespace Redis { export { ${members.join(", ")} }; }`,
    "",
  ].join("\n");
}

/** A class that is exported as a type alone is no value for the compiler either. */
function markTypes(entry) {
  const path = join(built, `${entry}.d.ts`);
  const { text, body } = nodesOf(path);
  const list = body.filter((node) => node.type === "ExportNamedDeclaration" && node.source === null).at(-1);
  if (list === undefined) return;
  const values = createRequire(import.meta.url)(join(built, `${entry}.js`));
  const words = list.specifiers.map((one) => {
    const [inside, outside] = [nameIn(one.local), nameIn(one.exported)];
    const word = inside === outside ? inside : `${inside} as ${outside}`;
    return values[outside] === undefined ? `type ${word}` : word;
  });
  writeFileSync(path, `${text.slice(0, list.start)}export { ${words.join(", ")} };${text.slice(list.end)}`);
}

/**
 * Builds the declarations, which name values of the code: that is built before. One file holds everything, of which
 * the entry and the sub-paths pass on what is public.
 */
export async function buildDeclarations({ ifStale = false } = {}) {
  if (ifStale && !isStale(join(built, "declarations.d.ts"), [source, import.meta.filename])) return;
  rmSync(declarations, { recursive: true, force: true });
  const compiler = [toolPath("typescript", "tsc"), "-p", "tsconfig.json"];
  await mustRun(process.execPath, [...compiler, "--emitDeclarationOnly", "--outDir", declarations]);
  const entries = Object.keys(entriesIn(subpaths)).map((name) => [
    name,
    join(declarations, "subpaths", `${name}.d.ts`),
  ]);
  await writeDeclarations({
    dir: built,
    input: { [ENTRY]: join(declarations, "index.d.ts"), ...Object.fromEntries(entries) },
    chunkFileNames: "[name].d.ts",
    // The methods of the commands are two thirds of the text; editors open the rest without them.
    groups: [
      { name: "commands", test: /[\\/]command[\\/]generated[\\/]/, minShareCount: 1, priority: 2 },
      { name: "declarations", minShareCount: 1 },
    ],
  });
  await buildTracerDeclarations();
  await buildCredentialDeclarations();
  writeFileSync(join(built, "with.d.ts"), "export {};\n");
  const path = join(built, "declarations.d.ts");
  writeFileSync(path, NODE_TYPES + withEnd(path, exportsOf("index")));
  for (const entry of [ENTRY, ...entries.map(([name]) => name)]) markTypes(entry);
}

function buildCredentialDeclarations() {
  return writeDeclarations({
    dir: built,
    input: Object.fromEntries(
      Object.entries(CREDENTIALS).map(([name, module]) => [name, join(declarations, `${module}.d.ts`)]),
    ),
    chunkFileNames: "credentials-[name].d.ts",
    groups: [],
  });
}

function buildTracerDeclarations() {
  const manifest = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
  const input = Object.entries(TRACER).map(([name, module]) => [name, join(declarations, `${module}.d.ts`)]);
  return writeDeclarations({
    dir: built,
    input: Object.fromEntries(input),
    external: externals(manifest),
    chunkFileNames: "otel-[name].d.ts",
    groups: [{ name: TRACER_SHARED, minShareCount: 2 }],
  });
}

/** Streams, sockets and Buffers are in the types of nearly everything. */
const NODE_TYPES = '/// <reference types="node" />\n';

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const isWhole = !process.argv.includes("--code");
  if (isWhole) rmSync(built, { recursive: true, force: true });
  await buildCode();
  await buildTestKit();
  if (!isWhole) process.exit();
  await buildDeclarations();
  await buildTestKitDeclarations();
}
