/**
 * Takes samples: the sides of a row, and rows that are compared, take turns for the requested number of
 * rounds. Each sample has a new process.
 *
 * Because of the turns, a disturbance affects all sides alike. A side that fails a sample is not tried again
 * on that row, and the reason is stored in place of its figures.
 */

import { setInterval } from "node:timers";
import type { SideName } from "../sides/all-sides";
import type { Target } from "../sides/side";
import { BareClient, serverInfo } from "./bare-client";
import type { BenchServers } from "./bench-servers";
import { type Pinning, spawnNode } from "./child-process";
import type { Figures } from "./meter";
import type { Budget, Row, SampleJob, Scenario } from "./scenario";

export interface SamplerOptions {
  readonly servers: BenchServers;
  readonly pinning: Pinning | undefined;
  readonly rounds: number;
  readonly budget: Budget;
  readonly isPlanned: (side: SideName) => boolean;
  /** Executable that runs the samples; absent: the one that runs the suite. */
  readonly runtime?: string;
}

export interface SideSamples {
  readonly samples: Figures[];
  failure?: string;
}

const JUDGED_SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "redis-nt"];
const OTHER_ROUNDS = 2;
const SAMPLE_TIMEOUT_MS = 120_000;
const MEMORY_POLL_MS = 25;
const MEBIBYTE = 1_048_576;

export class Sampler {
  constructor(private readonly options: SamplerOptions) {}

  /** The samples of each row, in the order of the rows. */
  async sampleRows(scenario: Scenario, rows: readonly Row[]): Promise<Map<SideName, SideSamples>[]> {
    const { servers, isPlanned } = this.options;
    const runs: RowRun[] = [];
    for (const row of rows) {
      const target = scenario.isOffline === true ? NO_TARGET : await servers.target(row.masters);
      const rounds = row.isLong === true ? 1 : Math.min(this.options.rounds, scenario.rounds ?? Infinity);
      const results: RowRun["results"] = new Map();
      for (const side of row.sides.filter(isPlanned)) results.set(side, { samples: [] });
      runs.push({ scenario, row, target, rounds, results });
    }
    for (let round = 0; round < this.options.rounds; round++) {
      for (const run of runs) if (round < run.rounds) await this.sampleRound(run, round);
    }
    return runs.map(({ results }) => results);
  }

  private async sampleRound({ rounds, results, ...what }: RowRun, round: number): Promise<void> {
    for (const [side, result] of results) {
      if (result.failure !== undefined || round >= roundsOf(side, rounds)) continue;
      try {
        result.samples.push(await this.sample({ ...what, side }));
      } catch (error) {
        result.failure = error instanceof Error ? error.message : String(error);
      }
    }
  }

  private async sample({ scenario, row, side, target }: SampleOf): Promise<Figures> {
    const { pinning, budget } = this.options;
    const job: SampleJob = {
      scenario: scenario.id,
      row: row.id,
      side,
      ...target,
      budget,
      serverCpu: pinning?.serverCpu,
    };
    const watch = scenario.watchesServerMemory === true ? await MemoryWatch.start(target) : undefined;
    const figures = await this.run(job, scenario.nodeFlags ?? []);
    if (watch !== undefined) figures.serverPeakMiB = watch.stop();
    return figures;
  }

  private run(job: SampleJob, flags: readonly string[]): Promise<Figures> {
    const script = "support/sample-process.js";
    const child = spawnNode({
      script,
      args: [JSON.stringify(job)],
      flags,
      cpu: this.options.pinning?.clientCpu,
      executable: this.options.runtime,
    });
    return new Promise((resolve, reject) => {
      let output = "";
      const timer = setTimeout(() => {
        child.kill("SIGKILL");
        reject(new Error(`no result within ${SAMPLE_TIMEOUT_MS / 1000} s`));
      }, SAMPLE_TIMEOUT_MS);
      child.stdout?.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
      child.once("error", reject);
      child.once("close", (code, signal) => {
        clearTimeout(timer);
        const result = parseResult(output);
        if (result?.figures !== undefined) resolve(result.figures);
        else reject(new Error(result?.failure ?? `the sample process ended with ${signal ?? code}`));
      });
    });
  }
}

/** Goals refer to three sides; the others are shown for comparison. */
function roundsOf(side: SideName, rounds: number): number {
  return JUDGED_SIDES.includes(side) ? rounds : Math.min(rounds, OTHER_ROUNDS);
}

interface RowOf {
  readonly scenario: Scenario;
  readonly row: Row;
  readonly target: Target;
}

interface RowRun extends RowOf {
  readonly rounds: number;
  readonly results: Map<SideName, SideSamples>;
}

interface SampleOf extends RowOf {
  readonly side: SideName;
}

const NO_TARGET: Target = { nodes: [], isCluster: false };

/** The result is the last line; libraries may print before it. */
function parseResult(output: string): { figures?: Figures; failure?: string } | undefined {
  const line = output.trimEnd().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(line) as { figures?: Figures; failure?: string };
  } catch {
    return undefined;
  }
}

/** Polls how much the server holds beyond what it held before the sample. */
class MemoryWatch {
  private peakBytes = 0;
  private readonly timer: NodeJS.Timeout;

  private constructor(
    private readonly client: BareClient,
    private readonly baseBytes: number,
  ) {
    this.timer = setInterval(() => void this.look(), MEMORY_POLL_MS);
  }

  static async start(target: Target): Promise<MemoryWatch> {
    const client = await BareClient.open(target.nodes[0] as Target["nodes"][number]);
    return new MemoryWatch(client, await usedBytes(client));
  }

  stop(): number {
    clearInterval(this.timer);
    this.client.close();
    return this.peakBytes / MEBIBYTE;
  }

  private async look(): Promise<void> {
    this.peakBytes = Math.max(this.peakBytes, (await usedBytes(this.client)) - this.baseBytes);
  }
}

async function usedBytes(client: BareClient): Promise<number> {
  return (await serverInfo(client, "memory")).get("used_memory") ?? 0;
}
