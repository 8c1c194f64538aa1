/** The main job on a real server, with figures: run by `npm run demo`. */

import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Redis } from "sluice";
import { renderChart } from "../benchmarks/report/chart";
import { curveSpec } from "../benchmarks/report/curves";
import { checkoutDirectory } from "../scripts/servers/cache-directory";
import { clear, fill } from "./dataset";
import { findDemoServer } from "./demo-server";
import { bold, count, dim, say, sayCurve, sayHead, sayRow, withBar } from "./screen";
import {
  autoPipelined,
  CONNECTIONS,
  explicitPipelines,
  httpAlone,
  type Outcome,
  oneByOne,
  oneByOneBehindHttp,
  PIPELINE_LENGTH,
  type Task,
  throughputAtDepth,
} from "./ways";

const COMMANDS = 100_000;
const DEPTHS = [1, 2, 5, 10, 50, 100, 1_000, 10_000];
/** Rounds over all depths, so that a busy moment of the machine does not fall on one depth alone. */
const ROUNDS = 5;
const SAMPLE_MS = 200;
const SVG_NAME = "pipeline-depth.svg";

function withProgress(name: string, url: string, way: (task: Task) => Promise<Outcome>): Promise<Outcome> {
  return withBar(name, COMMANDS, (onProgress) => way({ url, commands: COMMANDS, onProgress }));
}

async function showWays(url: string): Promise<void> {
  say(bold(`${count(COMMANDS)} times GET, in three ways\n`));
  sayHead();
  const single = await withProgress("one by one", url, oneByOne);
  const show = (name: string, outcome: Outcome): void =>
    sayRow({ name, ...outcome, ratio: outcome.perSecond / single.perSecond });
  show("one by one, each reply awaited", single);
  const explicit = await withProgress("explicit pipelines", url, explicitPipelines);
  show(`explicit pipelines of ${count(PIPELINE_LENGTH)}`, explicit);
  const automatic = await withProgress("auto-pipelining behind a web service", url, autoPipelined);
  show("auto-pipelining behind a web service", automatic);
  const plain = await withProgress("the same web service, one by one", url, oneByOneBehindHttp);
  show("the same web service, one by one", plain);
  const ceiling = await withProgress("the web service without a database", url, httpAlone);
  const factor = automatic.perSecond / plain.perSecond;
  say();
  say(
    `  The web service answers GET /?key=... with db.get(key, callback) to ${CONNECTIONS} connections at once.`,
  );
  say(`  Nothing in it mentions pipelines: the option enableAutoPipelining makes them, with`);
  say(
    `  ${bold((COMMANDS / automatic.writes).toFixed(0))} commands in one socket write on average, ${bold(`${factor.toFixed(1)} times`)} as fast as one by one.`,
  );
  say(
    dim(
      `  Answered from memory, with no database at all, the same service gives ${count(ceiling.perSecond)}`,
    ),
  );
  say(dim("  answers a second: more than that HTTP does not let through, whatever the client."));
}

function medianOf(figures: readonly number[]): number {
  const sorted = [...figures].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

async function showCurve(url: string): Promise<void> {
  const db = new Redis(url);
  const points: [number, number][] = [];
  try {
    await withBar("pipelines of growing length", DEPTHS.length * ROUNDS, async (onProgress) => {
      const samples = new Map<number, number[]>(DEPTHS.map((depth) => [depth, []]));
      let done = 0;
      for (let round = 0; round < ROUNDS; round++) {
        for (const [depth, figures] of samples) {
          figures.push(await throughputAtDepth(db, depth, SAMPLE_MS));
          onProgress(++done);
        }
      }
      for (const [depth, figures] of samples) points.push([depth, medianOf(figures)]);
    });
  } finally {
    db.disconnect();
  }
  say(bold("\nCommands per second by the length of the pipeline (both axes logarithmic)\n"));
  sayCurve(points);
  const [[, slowest] = [1, 1]] = points;
  const [bestDepth, best] = points.reduce((left, right) => (right[1] > left[1] ? right : left));
  say(
    `\n  From ${count(slowest)} to ${bold(count(best))} a second at a length of ${count(bestDepth)}: ${bold(`${(best / slowest).toFixed(0)} times`)}.`,
  );
  const path = join(checkoutDirectory(), SVG_NAME);
  const spec = curveSpec({
    plot: {
      file: SVG_NAME,
      title: "Commands per second by the length of the pipeline",
      xTitle: "commands in one pipeline",
      yTitle: "commands per second",
      figure: "opsPerSecond",
      pick: "median",
    },
    points: points.map(([x, y]) => ({ side: "sluice", x, y, least: y, most: y })),
    sides: ["sluice"],
    caption: [],
    theme: "light",
  });
  const svg = (await renderChart(spec, "light")).replace("<svg ", '<svg style="background: white" ');
  writeFileSync(path, svg);
  say(`  The same curve as a picture: ${relative(process.cwd(), path)}`);
}

async function main(): Promise<void> {
  say(bold("\nsluice: one socket, as full as it can be\n"));
  const server = await findDemoServer((line) => say(dim(line)));
  try {
    say(`Server: ${server.description}\n`);
    const db = new Redis(server.url, { retryStrategy: null });
    await fill(db);
    await showWays(server.url);
    await showCurve(server.url);
    await clear(db);
    await db.quit();
  } finally {
    await server.stop();
  }
  say();
}

main().catch((error: unknown) => {
  console.error(`\n${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
