/** What a pipeline hands its commands to, without a client: it keeps what it is given, and its test answers. */

import type { Command } from "../../src/command/command";
import { Tally } from "../../src/command/promise-completion";
import type { BatchSender } from "../../src/pipeline/pipeline-run";

export class ScriptedSender implements BatchSender {
  readonly tally = new Tally();
  readonly batches: (readonly Command[])[] = [];
  readonly told: unknown[][] = [];
  strict = false;
  prepares = false;
  observes = false;
  traces = false;
  onBatch: (commands: readonly Command[]) => void = () => {};

  isStrict(): boolean {
    return this.strict;
  }

  sendBatch(commands: readonly Command[]): void {
    this.batches.push(commands);
    this.onBatch(commands);
  }

  preparation(): ((command: Command) => void) | null {
    return this.prepares ? (command) => void this.told.push(["prepared", command.name]) : null;
  }

  observe(size: number) {
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

  trace() {
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
