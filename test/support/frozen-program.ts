/**
 * A service that another process freezes: each line of its standard input is a round of calls, issued at once. A call is a
 * command of the key "n", or `command:argument`. Prints a line of JSON for each: the replies, and how long the first took.
 */

import { createInterface } from "node:readline";
import { Cluster, Redis } from "../../src/index";

interface Settings {
  readonly port: number;
  readonly options?: object;
  /** Of a cluster. */
  readonly isCluster?: boolean;
}

const { port, options, isCluster }: Settings = JSON.parse(process.argv[2] ?? "{}");
const redis = isCluster
  ? new Cluster([{ host: "127.0.0.1", port }], options)
  : new Redis({ host: "127.0.0.1", port, ...options });
redis.on("error", () => {});

async function round(words: readonly string[]): Promise<void> {
  const startedAt = performance.now();
  const calls = words.map((word) => {
    const [name = "", argument] = word.split(":");
    const isOfKey = name === "get" || name === "incr";
    return redis.call(name, argument !== undefined ? [argument] : isOfKey ? ["n"] : []);
  });
  const [first] = await Promise.allSettled(calls);
  const firstMs = performance.now() - startedAt;
  const outcomes = await Promise.allSettled(calls);
  const replies = outcomes.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason)));
  console.log(JSON.stringify({ replies, firstMs, isFulfilled: first?.status === "fulfilled" }));
}

createInterface({ input: process.stdin }).on("line", (line) => void round(line.split(" ")));
