/**
 * The memory of a process after a garbage collection: the V8 heap and the array buffers that belong to it.
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
