/** Writes the names of the client that sluice-migrate compares programs with: it runs without the client. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { checkout } from "../scripts/run-command.mjs";

export function writeClientSurface() {
  const Redis = createRequire(import.meta.url)(join(checkout, "built", "index.js"));
  const methods = [];
  for (let at = Redis.prototype; at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === "function") methods.push(name);
  const { exports } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
  const folder = join(checkout, "migrate", "built");
  mkdirSync(folder, { recursive: true });
  const surface = { methods: [...new Set(methods)].sort(), subpaths: Object.keys(exports) };
  writeFileSync(join(folder, "client.json"), `${JSON.stringify(surface)}\n`);
}
