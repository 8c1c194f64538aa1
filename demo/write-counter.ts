/** Counts how often a socket is written to. Each call of these two is one system call. */

import type { Duplex } from "node:stream";

type Method = (...args: unknown[]) => unknown;

export class WriteCounter {
  writes = 0;

  constructor(stream: Duplex) {
    const methods = stream as unknown as Record<"_write" | "_writev", Method>;
    for (const name of ["_write", "_writev"] as const) {
      const original = methods[name];
      methods[name] = (...args) => {
        this.writes++;
        return original.apply(stream, args);
      };
    }
  }
}
