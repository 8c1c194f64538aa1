/**
 * The same loads as services run them: with asynchronous contexts in use, and with `sendCommand` wrapped by a
 * tracer. For each, the same run also measures the load without it.
 */

import type { SideName } from "../sides/all-sides";
import { type LoadRow, measureLoad } from "../support/measure-load";
import { LOAD_COLUMNS, type Scenario } from "../support/scenario";

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey", "redis-nt"];
const STORAGE_SIDES: readonly SideName[] = [...SIDES, "raw+p"];
const WITH_SEND_COMMAND: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey"];
const CALLERS = { kind: "callers", width: 200, operations: "mixed16", autoPipelining: true } as const;
const TURN = { kind: "turns", width: 1000, operations: "reads" } as const;
/** Services are warm: with the budget's time the compiler is still at work on what tracers add. */
const WARM = { leastWarmMs: 1500 } as const;

export const surroundings: Scenario<LoadRow> = {
  id: "surroundings",
  rounds: 3,
  title: "Asynchronous contexts, a wrapped sendCommand",
  about:
    "`AsyncLocalStorage` as tracers and loggers use it: each of 200 callers runs in its own context. Then a function that calls `sendCommand` and observes its promise replaces `sendCommand` of the class, as in tracers without diagnostics channels. node-redis has no such method.",
  columns: LOAD_COLUMNS,
  rows: [
    { id: "storage-off", title: "200 callers, no context", sides: STORAGE_SIDES, ...CALLERS, ...WARM },
    {
      id: "storage-on",
      title: "200 callers, a context each",
      sides: STORAGE_SIDES,
      ...CALLERS,
      ...WARM,
      hasStorage: true,
    },
    {
      id: "patched-off",
      title: "1,000 in one turn, as it comes",
      sides: WITH_SEND_COMMAND,
      ...TURN,
      ...WARM,
    },
    {
      id: "patched-on",
      title: "1,000 in one turn, sendCommand wrapped",
      sides: WITH_SEND_COMMAND,
      ...TURN,
      ...WARM,
      isPatched: true,
    },
  ],
  measure: measureLoad,
};
