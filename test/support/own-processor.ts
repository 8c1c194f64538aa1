/**
 * Hides from the client, before it is loaded, how long its thread waits for a processor. Tests run beside one another:
 * whether others use the processor would decide when bytes are written.
 */

import fs from "node:fs";

const { openSync } = fs;
fs.openSync = (path, ...rest) => {
  if (String(path).endsWith("/schedstat")) throw new Error("hidden by the tests");
  return openSync(path, ...rest);
};
