/** Replies that are cached in the process: the cost of a hit, compared with a read without a cache. */

import type { SideName } from "../sides/all-sides";
import { openReader, type Reader } from "../sides/cached-reader";
import { freshKey } from "../sides/operation";
import type { Address } from "../sides/side";
import { Clock } from "../support/clock";
import { KEY_COUNT, keyOf, numbers } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import { OPS, type Row, type SampleContext, type Scenario } from "../support/scenario";

type Way = "awaited" | "turn" | "peek";

interface CachedRow extends Row {
  readonly way: Way;
  readonly isOn: boolean;
  /** The program has the keys as they are; otherwise it makes them anew for each call. */
  readonly hasKeys?: boolean;
}

const WITH_CACHE: readonly SideName[] = ["sluice", "before", "redis-nt", "raw"];
const PEEKING: readonly SideName[] = ["sluice", "before", "raw"];
const CLIENTS: readonly SideName[] = ["sluice", "before", "redis-nt"];
const TURN = 1000;

export const cached: Scenario<CachedRow> = {
  id: "cached",
  rounds: 3,
  title: "Hits of the client's cache",
  about:
    "1,000 keys, all in the cache. The key strings are new for each call, or kept by the program. Rows: each hit awaited, 1,000 hits of one turn in a `Promise.all`, and the synchronous `peek`. node-redis uses its `clientSideCache`. raw is the floor: an `async` function that reads a `Map`, and for `peek` the `Map` alone. Without the cache, the same turn reaches the server.",
  columns: [OPS, { figure: "cpuMicros", title: "CPU µs/command", digits: 3, pick: "least" }],
  rows: [
    { id: "cached-awaited", title: "hit, awaited", sides: WITH_CACHE, way: "awaited", isOn: true },
    { id: "cached-turn", title: "1,000 hits in Promise.all", sides: WITH_CACHE, way: "turn", isOn: true },
    { id: "cached-peek", title: "peek", sides: PEEKING, way: "peek", isOn: true },
    {
      id: "cached-awaited-ready",
      title: "hit, awaited, key at hand",
      sides: WITH_CACHE,
      way: "awaited",
      isOn: true,
      hasKeys: true,
    },
    {
      id: "cached-turn-ready",
      title: "1,000 hits in Promise.all, keys at hand",
      sides: WITH_CACHE,
      way: "turn",
      isOn: true,
      hasKeys: true,
    },
    {
      id: "cached-peek-ready",
      title: "peek, key at hand",
      sides: PEEKING,
      way: "peek",
      isOn: true,
      hasKeys: true,
    },
    {
      id: "cache-off",
      title: "1,000 in Promise.all, cache off",
      sides: CLIENTS,
      way: "turn",
      isOn: false,
    },
  ],
  measure: measureCached,
};

async function measureCached({ way, isOn, hasKeys }: CachedRow, context: SampleContext): Promise<Figures> {
  const reader = await openReader(context.sideName, context.target.nodes[0] as Address, isOn);
  const keys = numbers(KEY_COUNT).map((index) => keyOf("s", index));
  const texts = keys.map(freshKey);
  await Promise.all(texts.map((key) => reader.get(key)));
  if (way === "peek") {
    const missing = texts.find((key) => typeof reader.peek?.(key) !== "string");
    if (missing !== undefined) throw new Error(`${missing} is not in the cache`);
  }
  const pass = hasKeys === true ? passOver(texts, asIs, way, reader) : passOver(keys, freshKey, way, reader);
  await pass(context.budget.warmMs);
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await pass(context.budget.measureMs));
  reader.close();
  return figures;
}

function asIs(key: string): string {
  return key;
}

/** Asks for all keys again and again. */
function passOver<T>(keys: readonly T[], nameOf: (key: T) => string, way: Way, reader: Reader) {
  return async (durationMs: number): Promise<number> => {
    const clock = new Clock(durationMs, 0, 1);
    let done = 0;
    do {
      if (way === "turn") await Promise.all(keys.map((key) => reader.get(nameOf(key))));
      else if (way === "awaited") for (const key of keys) await reader.get(nameOf(key));
      else for (const key of keys) reader.peek?.(nameOf(key));
      done += TURN;
    } while (!clock.expired());
    return done;
  };
}
