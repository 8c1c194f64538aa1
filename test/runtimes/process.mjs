/** The program in a process: of Node, Bun or Deno, or in a worker thread of Node. Prints the results as JSON. */

import { Worker } from "node:worker_threads";
import { tryAreas } from "./program.mjs";

const surroundings = JSON.parse(process.env.SURROUNDINGS);

if (process.env.IN_THREAD === "1") {
  const env = { ...process.env, IN_THREAD: "" };
  const worker = new Worker(new URL(import.meta.url), { env });
  worker.once("error", (error) => {
    throw error;
  });
} else {
  surroundings.freezer.pid = process.pid;
  const client = await import(process.env.CLIENT);
  const Redis = client.Redis ?? client.default;
  console.log(JSON.stringify(await tryAreas({ Redis, Cluster: Redis.Cluster, ...surroundings })));
}
