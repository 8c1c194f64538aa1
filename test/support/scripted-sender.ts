/** What a pipeline hands its commands to, without a client: it keeps what it is given, and its test answers. */

import type { Command } from "../../src/command/command";
import { CALLS, CallCounts } from "../../src/command/promise-completion";
import { OBSERVE, type PipelineHost, SEND_BATCH, TRACE_BATCH } from "../../src/pipeline/pipeline-run";

export class ScriptedSender implements PipelineHost {
  readonly isCluster = false;
  readonly callCounts = new CallCounts();
  readonly [CALLS] = this.callCounts;
  readonly batches: (readonly Command[])[] = [];
  readonly told: unknown[][] = [];
  observes = false;
  traces = false;
  onBatch: (commands: readonly Command[]) => void = () => {};

  /** @param options Those of the client. */
  constructor(readonly options: PipelineHost["options"] = {}) {}

  [SEND_BATCH](commands: readonly Command[]): void {
    this.batches.push(commands);
    this.onBatch(commands);
  }

  [OBSERVE](size: number) {
    if (!this.observes) return null;
    return {
      around: (send: () => void) => {
        this.told.push(["around", size]);
        send();
      },
      onSettled: (error: Error | null, value?: unknown) =>
        void this.told.push(error === null ? ["fulfilled", value] : ["failed", error.message]),
    };
  }

  [TRACE_BATCH]() {
    if (!this.traces) return null;
    return {
      around: (send: () => void) => {
        this.told.push(["traced"]);
        send();
      },
      onStarted: () => {},
      onAnswered: () => {},
      onEnd: (rows: unknown[], failures: number, refusal: Error | null) =>
        void this.told.push(["end", rows.length, failures, refusal?.message ?? null]),
    };
  }
}
