/** A completion that counts how often its command was settled: once is right. */

import type { Command, Completion } from "../../src/command/command";

export class Ending implements Completion {
  readonly promise = null;
  times = 0;
  error: Error | null = null;

  fulfil(): void {
    this.times++;
  }

  reject(_command: Command, error: Error): void {
    this.times++;
    this.error = error;
  }
}
