/** The directory of downloads: `.cache` in the checkout, which git ignores. It can be deleted at any time. */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** The checkout: the nearest directory above this file that holds the package's own package.json. */
export function checkoutDirectory(): string {
  let directory = __dirname;
  while (!existsSync(join(directory, "package.json"))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error(`No package.json above ${__dirname}`);
    directory = parent;
  }
  return directory;
}

export function cacheDirectory(): string {
  return process.env.SLUICE_CACHE ?? join(checkoutDirectory(), ".cache");
}

// The downloads of the test kit for this checkout stay in it.
process.env.SLUICE_CACHE ??= cacheDirectory();
