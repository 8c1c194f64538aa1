/**
 * A service that another process freezes: each line of its standard input is a round of calls, issued at once. Prints
 * a line of JSON for each: the replies or messages, and how long the first took.
 */

import { createInterface } from "node:readline";
import { Redis } from "../../src/index";

const { port, options } = JSON.parse(process.argv[2] ?? "{}") as { port: number; options: object };
const redis = new Redis({ host: "127.0.0.1", port, ...options });
redis.on("error", () => {});

async function round(words: readonly string[]): Promise<void> {
  const startedAt = performance.now();
  const calls = words.map((word) => redis.call(word, word === "get" || word === "incr" ? ["n"] : []));
  const [first] = await Promise.allSettled(calls);
  const firstMs = performance.now() - startedAt;
  const outcomes = await Promise.allSettled(calls);
  const replies = outcomes.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason)));
  console.log(JSON.stringify({ replies, firstMs, isFulfilled: first?.status === "fulfilled" }));
}

createInterface({ input: process.stdin }).on("line", (line) => void round(line.split(" ")));
