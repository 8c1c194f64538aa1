/** Puts a double in place of a class or function that a module of `src` exports, for all who import it. */

import { join } from "node:path";

const SETTERS = Symbol.for("sluice.setters");

/**
 * To be called before anything uses the export.
 * @param path of the module in `src`, without its ending
 */
export function replaceExport(path: string, name: string, double: unknown): void {
  const module = require(join(__dirname, "..", "..", "src", path)) as { [SETTERS]?: Record<string, unknown> };
  const setters = module[SETTERS];
  if (setters === undefined || !(name in setters)) throw new Error(`${path} has no ${name} to be replaced`);
  setters[name] = double;
}
