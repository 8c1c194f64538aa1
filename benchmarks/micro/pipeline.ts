/**
 * A pipeline alone: built by chained calls, passed to a sender that answers every command immediately.
 */

import type { Command } from "../../src/command/command";
import { CALLS, CallCounts } from "../../src/command/promise-completion";
import { Pipeline } from "../../src/pipeline/pipeline";
import { SEND_BATCH, TRACE_BATCH } from "../../src/pipeline/pipeline-run";
import { report } from "./measure";

const COUNT = 1000;
const SHAPE = { protocol: 3, replyMapping: "legacy" } as const;
const host = {
  options: {},
  isCluster: false,
  [CALLS]: new CallCounts(),
  [TRACE_BATCH]: () => null,
  [SEND_BATCH](commands: readonly Command[]): void {
    for (const command of commands) command.fulfil("OK", SHAPE);
  },
};
const keys = Array.from({ length: COUNT }, (_, index) => `key:${10_000 + index}`);

report("pipeline: chained set, nothing sent", COUNT, () => {
  const pipeline = new Pipeline(host);
  for (const key of keys) pipeline.set(key, "0123456789abcdef");
});

report("pipeline: chained set, sent, answered", COUNT, () => {
  const pipeline = new Pipeline(host);
  for (const key of keys) pipeline.set(key, "0123456789abcdef");
  void pipeline.exec();
});
