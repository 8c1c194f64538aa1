/**
 * Bundles the client, the test server and what they need of Node.js for a browser: a worker that needs no server. The
 * modules of Node.js are those of site/playground and of the packages that are made for this.
 */

import { copyFileSync } from "node:fs";
import { builtinModules, createRequire } from "node:module";
import { join, relative } from "node:path";
import { build } from "esbuild";
import { checkout } from "../run-command.mjs";

const shims = join(checkout, "site", "playground");
const ofSite = createRequire(join(checkout, "site", "package.json"));
const ofProject = createRequire(join(checkout, "package.json"));
const lua = ofProject.resolve("wasmoon-lua5.1");

/** In node.mjs, by name. */
const SHIMMED = [
  "async_hooks",
  "child_process",
  "crypto",
  "diagnostics_channel",
  "dns",
  "fs",
  "module",
  "net",
  "os",
  "perf_hooks",
  "timers",
  "tls",
  "url",
  "util",
  "util/types",
  "vm",
];
/** Made by packages of the site, which are asked for when they are needed: the site may not be installed. */
const REPLACED = {
  buffer: () => join(shims, "buffer.mjs"),
  "buffer/": () => ofSite.resolve("buffer/"),
  events: () => ofSite.resolve("events/"),
  path: () => ofSite.resolve("path-browserify"),
  stream: () => ofSite.resolve("readable-stream"),
  "readable-stream": () => ofSite.resolve("readable-stream"),
};

const entryPoints = { playground: join(shims, "worker.mjs") };

const nodeModules = {
  name: "node-modules",
  setup({ onResolve }) {
    onResolve({ filter: /^(?:node:)?[a-z_]+(?:\/[a-z]*)?$/ }, ({ path }) => {
      const name = path.replace(/^node:/, "");
      if (SHIMMED.includes(name)) return { path: join(shims, "node.mjs") };
      return REPLACED[name] === undefined ? null : { path: REPLACED[name]() };
    });
    onResolve({ filter: /^wasmoon-lua5\.1$/ }, () => ({ path: join(shims, "lua.mjs") }));
    onResolve({ filter: /^wasmoon-lua5\.1\/dist\/index\.js$/ }, () => ({ path: lua }));
    onResolve({ filter: /^@noble\/hashes\// }, ({ path }) => ({ path: ofSite.resolve(path) }));
  },
};

/** @param {string} folder gets playground.js and what it loads */
export async function bundlePlayground(folder) {
  await build({
    entryPoints,
    outdir: folder,
    bundle: true,
    minify: true,
    keepNames: true,
    format: "iife",
    platform: "browser",
    target: "es2022",
    inject: [join(shims, "globals.mjs")],
    plugins: [nodeModules],
    logLevel: "warning",
    logOverride: { "import-is-undefined": "silent" },
  });
  copyFileSync(join(lua, "..", "liblua5.1.wasm"), join(folder, "liblua5.1.wasm"));
}

/** Modules of Node.js, and names of modules, that the playground imports and that nothing replaces, each with its importer. */
export async function missingImports() {
  const missing = [];
  const recorder = {
    name: "recorder",
    setup({ onResolve }) {
      onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
        if (kind === "entry-point") return null;
        const name = path.replace(/^node:/, "");
        if (SHIMMED.includes(name)) return { path: join(shims, "node.mjs") };
        if (builtinModules.includes(name) && REPLACED[name] === undefined)
          missing.push(`${name}, ${relative(checkout, importer)}`);
        return { path, external: true };
      });
    },
  };
  const { errors } = await build({
    entryPoints,
    bundle: true,
    write: false,
    format: "iife",
    plugins: [recorder],
    logLevel: "silent",
  }).catch((failure) => failure);
  return [...missing, ...errors.map(({ text, location }) => `${text}, ${location?.file}`)];
}
