/**
 * Counts the bytes that a piece of work allocates on the V8 heap.
 *
 * Works only in a process whose young generation has room for all of it (`--min-semi-space-size`). The count
 * fails if a garbage collection occurs, because the collection would remove counted bytes.
 */

import { PerformanceObserver } from "node:perf_hooks";
import { eventLoopTurn } from "./meter";

export async function countAllocatedBytes(work: () => Promise<void>): Promise<number> {
  let collections = 0;
  const observer = new PerformanceObserver((list) => {
    collections += list.getEntries().length;
  });
  observer.observe({ entryTypes: ["gc"] });
  const before = process.memoryUsage().heapUsed;
  await work();
  const after = process.memoryUsage().heapUsed;
  await eventLoopTurn();
  await eventLoopTurn();
  collections += observer.takeRecords().length;
  observer.disconnect();
  if (collections > 0) throw new Error(`the garbage collector ran ${collections} times during the count`);
  return after - before;
}
