/**
 * Reads the process's own counters around a measurement: time, CPU, garbage collection, system calls, memory.
 *
 * Nothing is read from the operating system or from V8 during the measurement. Only the load and one callback
 * per garbage collection run then.
 */

import fs from "node:fs";
import { type PerformanceEntry, PerformanceObserver } from "node:perf_hooks";

/** Figures of one sample by name; which names occur is up to the scenario. */
export type Figures = Record<string, number>;

interface SystemCalls {
  readonly reads: number;
  readonly writes: number;
}

export class Meter {
  private startMs = 0;
  private startCpu: NodeJS.CpuUsage = process.cpuUsage();
  private startCalls: SystemCalls | undefined;
  private readonly pauses: PerformanceEntry[] = [];
  private readonly observer = new PerformanceObserver((list) => {
    this.pauses.push(...list.getEntries());
  });

  start(): void {
    this.observer.observe({ entryTypes: ["gc"] });
    this.pauses.length = 0;
    this.startCalls = systemCalls();
    this.startCpu = process.cpuUsage();
    this.startMs = performance.now();
  }

  /** Counters are read at once; the promise is for the notes about garbage collections, which arrive later. */
  async stop(commands: number): Promise<Figures> {
    const endMs = performance.now();
    const elapsedMs = endMs - this.startMs;
    const cpu = process.cpuUsage(this.startCpu);
    const calls = systemCalls();
    const peakRssMiB = process.resourceUsage().maxRSS / 1024;
    const pausesMs = await this.pausesUntil(endMs);
    const gcMs = pausesMs.reduce((sum, ms) => sum + ms, 0);
    const figures: Figures = {
      commands,
      elapsedMs,
      opsPerSecond: (commands / elapsedMs) * 1000,
      cpuMicros: (cpu.user + cpu.system) / commands,
      userCpuMicros: cpu.user / commands,
      gcCount: pausesMs.length,
      gcMs,
      gcMaxMs: Math.max(0, ...pausesMs),
      gcSharePercent: (gcMs / elapsedMs) * 100,
      peakRssMiB,
    };
    if (calls !== undefined && this.startCalls !== undefined) {
      figures.writeCallsPerThousand = ((calls.writes - this.startCalls.writes) / commands) * 1000;
      figures.readCallsPerThousand = ((calls.reads - this.startCalls.reads) / commands) * 1000;
    }
    return figures;
  }

  private async pausesUntil(endMs: number): Promise<number[]> {
    await eventLoopTurn();
    await eventLoopTurn();
    this.pauses.push(...this.observer.takeRecords());
    this.observer.disconnect();
    return this.pauses.filter(({ startTime }) => startTime <= endMs).map(({ duration }) => duration);
  }
}

export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** read(2) and write(2) family calls of this process so far; only Linux tells. */
function systemCalls(): SystemCalls | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const text = fs.readFileSync("/proc/self/io", "latin1");
    return { reads: fieldOf(text, "syscr"), writes: fieldOf(text, "syscw") };
  } catch {
    return undefined; // some containers forbid it
  }
}

function fieldOf(text: string, name: string): number {
  return Number(new RegExp(`${name}: (\\d+)`).exec(text)?.[1] ?? Number.NaN);
}
