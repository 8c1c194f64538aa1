/**
 * Runs one compiled block of the documentation against a server: `node run-snippet.js <file> <port>
 * <whole|fragment>`. A fragment finds `redis` connected and is ended here; a whole program has to
 * end by itself. Clients that name no server, or localhost:6379, get the one on the port.
 */

import { deepStrictEqual } from "node:assert";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

type Package = typeof import("../../src/index").Redis & typeof import("../../src/index");

const [file = "", port = "", kind = ""] = process.argv.slice(2);
// The package as built, as the blocks themselves find it by its name.
const Redis = createRequire(__filename)("sluice") as Package;

/** Prototypes differ between what a server gives and what a comment says; values must not. */
function plain(value: unknown): unknown {
  return value === undefined ? value : structuredClone(value);
}

function expectValue(place: string, actual: unknown, expected: unknown): void {
  deepStrictEqual(plain(actual), plain(expected));
  process.stdout.write(`checked ${place}\n`);
}

async function main(): Promise<void> {
  Object.assign(Redis.defaultOptions, { port: Number(port) });
  const code = readFileSync(file, "utf8");
  const moved = file.replace(/\.([cm]js)$/, `.${port}.$1`);
  writeFileSync(moved, code.replaceAll("localhost:6379", `localhost:${port}`));
  Object.assign(globalThis, { $expect: expectValue, readFileSync });
  if (kind === "whole") {
    await import(pathToFileURL(moved).href);
    return;
  }
  const redis = new Redis();
  Object.assign(globalThis, { Redis, Cluster: Redis.Cluster, redis });
  await import(pathToFileURL(moved).href);
  await redis.quit().catch(() => {});
  process.exit();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
