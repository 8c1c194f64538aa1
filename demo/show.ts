/** Measures several ways to send the same commands to a server, and the throughput by pipeline length. */

import { Redis } from "sluice";
import { clear, fill } from "./dataset";
import { bold, count, say, sayCurve, sayHead, sayRow, withBar } from "./screen";
import {
  behindWebService,
  CONNECTIONS,
  explicitPipelines,
  type Outcome,
  oneByOne,
  oneByOneBehindHttp,
  PIPELINE_LENGTH,
  type Task,
  throughputAtDepth,
} from "./ways";

export interface Extent {
  readonly commands: number;
  readonly depths: readonly number[];
  /** Each round measures all depths, so that a busy moment of the machine does not affect one depth alone. */
  readonly rounds: number;
  readonly sampleMs: number;
}

export const WHOLE: Extent = {
  commands: 100_000,
  depths: [1, 2, 5, 10, 50, 100, 1_000, 10_000],
  rounds: 5,
  sampleMs: 200,
};

export type Point = [depth: number, perSecond: number];

async function showWays(url: string, commands: number): Promise<void> {
  say(bold(`${count(commands)} times GET\n`));
  sayHead();
  const measure = async (
    name: string,
    way: (task: Task) => Promise<Outcome>,
    base?: Outcome,
  ): Promise<Outcome> => {
    const outcome = await withBar(name, commands, (onProgress) => way({ url, commands, onProgress }));
    sayRow({ name, ...outcome, ratio: outcome.perSecond / (base ?? outcome).perSecond });
    return outcome;
  };
  const single = await measure("one by one, each reply awaited", oneByOne);
  await measure(`explicit pipelines of ${count(PIPELINE_LENGTH)}`, explicitPipelines, single);
  const plain = await measure("web service, one by one", oneByOneBehindHttp);
  const shared = await measure("web service, default options", behindWebService(false), plain);
  const automatic = await measure("web service, auto-pipelining", behindWebService(true), plain);
  const factor = (shared.perSecond / plain.perSecond).toFixed(1);
  const perWrite = ({ writes }: Outcome): string => bold((commands / writes).toFixed(0));
  say();
  say('  The ratios of the web service compare with "web service, one by one".');
  say(`  The web service answers GET /?key=... with db.get(key, callback) on ${CONNECTIONS} connections.`);
  say(
    `  Its code has no pipelines. One socket write holds ${perWrite(shared)} commands on average with default`,
  );
  say(
    `  options, and ${perWrite(automatic)} with enableAutoPipelining. With default options, the service is`,
  );
  say(`  ${bold(`${factor} times`)} as fast as one command at a time.`);
}

function medianOf(figures: readonly number[]): number {
  const sorted = [...figures].sort((left, right) => left - right);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

async function showCurve(url: string, { depths, rounds, sampleMs }: Extent): Promise<Point[]> {
  const db = new Redis(url);
  const points: Point[] = [];
  try {
    await withBar("pipelines of growing length", depths.length * rounds, async (onProgress) => {
      const samples = new Map<number, number[]>(depths.map((depth) => [depth, []]));
      let done = 0;
      for (let round = 0; round < rounds; round++) {
        for (const [depth, figures] of samples) {
          figures.push(await throughputAtDepth(db, depth, sampleMs));
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
  return points;
}

/** Writes keys of its own, prints all results, and removes the keys. */
export async function show(url: string, extent: Extent): Promise<Point[]> {
  const db = new Redis(url, { retryStrategy: null });
  db.on("error", () => {}); // the rejection of the first command reports it
  try {
    await fill(db);
    await showWays(url, extent.commands);
    const points = await showCurve(url, extent);
    await clear(db);
    return points;
  } finally {
    await db.quit().catch(() => db.disconnect());
  }
}
