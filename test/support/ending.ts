/** A completion that counts how often its command was settled: once is right. */

import type { Completion } from "../../src/command/command";

export class Ending implements Completion {
  readonly promise = null;
  times = 0;

  fulfil(): void {
    this.times++;
  }

  reject(): void {
    this.times++;
  }
}
