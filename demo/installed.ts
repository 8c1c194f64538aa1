/** Runs the demo of the installed package on a server of the user: `npx sluice demo redis://host:6379`. */

import { parseArgs } from "node:util";
import { bold, say } from "./screen";
import { type Extent, show, WHOLE } from "./show";

const QUICK: Extent = { commands: 2_000, depths: [1, 10, 100], rounds: 1, sampleMs: 50 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false } },
});
const url = positionals[0] ?? process.env["REDIS_URL"] ?? "redis://localhost:6379";

say(bold("\nsluice: explicit and automatic pipelining\n"));
show(url, values.quick ? QUICK : WHOLE).then(
  () => say(),
  (error: unknown) => {
    const { message, hint, cause } = error as Error & { hint?: string };
    const reason = cause instanceof Error ? ` ${cause.message}` : "";
    console.error(`\n${message}${reason}${hint === undefined ? "" : `\n${hint}`}`);
    console.error(`
The demo needs a Redis or Valkey server. Start one and pass its address:

  docker run --rm -p 6379:6379 valkey/valkey:9
  npx sluice demo redis://localhost:6379`);
    process.exitCode = 1;
  },
);
