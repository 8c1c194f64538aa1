/** A load in a separate process, which runs on request. */

import { createInterface } from "node:readline";
import type { RoundTripRow } from "../scenario/round-trips";
import type { SideName } from "../sides/all-sides";
import type { Target } from "../sides/side";
import { spawnNode } from "./child-process";
import type { Figures } from "./meter";

export interface LoadJob {
  readonly row: RoundTripRow;
  readonly target: Target;
  readonly sideName: SideName;
}

export interface LoadProcess {
  /** Runs the load for a time. Rejects if the process has ended. */
  pass(durationMs: number): Promise<Figures>;
  stop(): void;
}

export function startLoad(job: LoadJob): LoadProcess {
  const { stdin, stdout } = spawnNode({ script: "support/load-process.js", args: [JSON.stringify(job)] });
  if (stdin === null || stdout === null) throw new Error("The load has no pipes");
  const lines = createInterface(stdout)[Symbol.asyncIterator]();
  return {
    async pass(durationMs) {
      stdin.write(`${durationMs}\n`);
      const { value } = await lines.next();
      if (value === undefined) throw new Error("The process of the load has ended");
      return JSON.parse(value) as Figures;
    },
    stop: () => stdin.end(),
  };
}
