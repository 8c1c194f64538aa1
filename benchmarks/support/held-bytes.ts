/**
 * What a process holds on the V8 heap and in memory that belongs to it (array buffers), after the collector has run.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { eventLoopTurn } from "./meter";

let collect: (() => void) | undefined;

export async function heldBytes(): Promise<number> {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  await eventLoopTurn();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
