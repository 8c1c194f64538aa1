/** Working directories of servers and certificates: short paths, gone when the process ends. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { guardDirectory } from "./orphan-guard";

export function temporaryDirectory(): string {
  // Unix socket paths may have about 100 bytes: the name stays short.
  const path = mkdtempSync(join(tmpdir(), "sluice-"));
  guardDirectory(path);
  return path;
}
