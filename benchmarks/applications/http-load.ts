/**
 * Puts load on an HTTP service with autocannon. Runs in a separate process on the server's CPU.
 *
 *   node http-load.js <url> <connections>
 *
 * Each line of standard input is a number of requests to send. The output is a line of JSON with their count,
 * the number of failures, the time until the last response, and the quantiles of the response times.
 * (autocannon itself detects the end only once a second.) The process ends when standard input closes.
 */

import readline from "node:readline";
import { LatencyRecorder } from "../support/statistics";
import { requirePackage } from "./packages";

interface LoadResult {
  readonly non2xx: number;
  readonly errors: number;
}

interface Instance extends PromiseLike<LoadResult> {
  on(
    event: "response",
    listener: (client: unknown, status: number, bytes: number, milliseconds: number) => void,
  ): unknown;
}

type Autocannon = (
  options: Record<string, unknown>,
  done: (error: Error | null, result: LoadResult) => void,
) => Instance;

const autocannon = requirePackage<Autocannon>("autocannon");
const [url = "", connections = "1"] = process.argv.slice(2);

function load(amount: number): Promise<Record<string, number>> {
  const latencies = new LatencyRecorder();
  let answered = 0;
  const startMs = performance.now();
  let lastMs = startMs;
  return new Promise((resolve, reject) => {
    const options = { url, connections: Number(connections), amount };
    const instance = autocannon(options, (error, { non2xx, errors }) => {
      if (error !== null) reject(error);
      else {
        const failed = non2xx + errors;
        resolve({ answered, failed, elapsedMs: lastMs - startMs, ...latencies.quantiles() });
      }
    });
    instance.on("response", (_client, _status, _bytes, milliseconds) => {
      answered++;
      lastMs = performance.now();
      latencies.record(milliseconds);
    });
  });
}

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  process.stdout.write(`${JSON.stringify(await load(Number(line)))}\n`);
});
process.stdin.on("close", () => process.exit(0));
