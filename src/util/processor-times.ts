/** How long this thread has run and has waited for a processor, as Linux reports it. Some sandboxes do not. */

import { readsSystemFiles } from "./runtime";

export interface ProcessorTimes {
  /** In ms: the time for which the thread has run. */
  readonly ranMs: number;
  /** In ms: the time for which it was ready to run while other threads used its processors. */
  readonly waitedMs: number;
}

const PATH = "/proc/thread-self/schedstat";
/** Enough for three numbers of 20 digits. */
const content = Buffer.alloc(64);
let readTimes: (() => ProcessorTimes) | null | undefined;

/** The times since the thread started; null: unknown. A read takes about 2 µs. */
export function processorTimes(): ProcessorTimes | null {
  if (readTimes === undefined) readTimes = readsSystemFiles ? timesIn(PATH) : null;
  try {
    return readTimes?.() ?? null;
  } catch {
    // The program has closed a file that it has not opened.
    readTimes = null;
    return null;
  }
}

/** Returns a function that reads the times from this file, which stays open; null if it cannot be opened. */
export function timesIn(path: string): (() => ProcessorTimes) | null {
  try {
    // Loaded late, because a runtime may lack it.
    const { openSync, readSync } = require("node:fs") as typeof import("node:fs");
    const file = openSync(path, "r");
    return () => {
      const length = readSync(file, content, 0, content.length, 0);
      const [ranNs, waitedNs] = content.toString("latin1", 0, length).split(" ");
      return { ranMs: Number(ranNs) / 1e6, waitedMs: Number(waitedNs) / 1e6 };
    };
  } catch {
    return null;
  }
}
