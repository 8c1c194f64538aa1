// Loads a CSV file of a million lines (fewer with LINES=...) with constant memory and shows the progress.
const { createReadStream, rmSync, writeFileSync, openSync, writeSync, closeSync } = require("node:fs");
const { createInterface } = require("node:readline");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const Redis = require("sluice");

const LINES = Number(process.env.LINES ?? 1_000_000);
const file = join(tmpdir(), `people-${process.pid}.csv`);

function writeCsv() {
  writeFileSync(file, "");
  const out = openSync(file, "a");
  for (let from = 0; from < LINES; from += 10_000) {
    const size = Math.min(10_000, LINES - from);
    writeSync(out, Array.from({ length: size }, (_, i) => `${from + i},name ${from + i}\n`).join(""));
  }
  closeSync(out);
}

async function* commands() {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const [id, name] = line.split(",");
    yield ["hset", `person:${id % 1000}`, id, name];
  }
}

async function main() {
  writeCsv();
  const redis = new Redis(process.env.REDIS_URL);
  const bulk = redis.bulk(commands(), {
    batchSize: 10_000,
    onProgress: ({ settled, bytes }) => {
      process.stdout.write(`\r${settled} of ${LINES} lines, ${Math.round(bytes / 2 ** 20)} MiB`);
    },
  });
  const summary = await bulk.summary();
  console.log(`\n${summary.succeeded} lines, ${summary.failed} errors, ${Math.round(summary.durationMs)} ms`);

  // Iterate to read the rows.
  let seen = 0;
  for await (const [error, value] of redis.bulk([
    ["set", "k", "v"],
    ["get", "k"],
  ])) {
    console.log(++seen, error, value);
  }
  rmSync(file);
  await redis.quit();
}

main();
