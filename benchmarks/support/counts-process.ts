/**
 * Counts in a process of its own and prints one line of JSON.
 *
 *   node <COUNT_FLAGS> counts-process.js <module with the client class> <port>
 */

import type { IoredisLikeClass } from "../sides/ioredis-side";
import { countLoads } from "./counts";

const [, , modulePath, port] = process.argv;

countLoads(require(modulePath as string) as IoredisLikeClass, { host: "127.0.0.1", port: Number(port) }).then(
  (counts) => process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0)),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
