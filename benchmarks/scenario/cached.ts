/** Answers that are kept in the process: what a hit costs, and what one asks for without a cache. */

import { buildOf, loadBuild, type SideName } from "../sides/all-sides";
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
}

interface Reader {
  get(key: string): Promise<unknown>;
  /** Looks into the cache without waiting. */
  peek?(key: string): unknown;
  close(): void;
}

const WITH_CACHE: readonly SideName[] = ["sluice", "before", "redis-nt"];
const PEEKING: readonly SideName[] = ["sluice", "before"];
const TURN = 1000;
const CACHE_BYTES = 64 * 1_048_576;

export const cached: Scenario<CachedRow> = {
  id: "cached",
  rounds: 3,
  title: "Hits of the client's cache",
  about:
    "1,000 keys that are all in the cache, asked for by keys made afresh: each hit awaited, 1,000 hits of one turn in a `Promise.all`, and `peek`, which does not wait. node-redis has its `clientSideCache`. Without the cache the same turn goes to the server.",
  columns: [OPS, { figure: "cpuMicros", title: "CPU µs/command", digits: 3, pick: "least" }],
  rows: [
    { id: "cached-awaited", title: "hit, awaited", sides: WITH_CACHE, way: "awaited", isOn: true },
    { id: "cached-turn", title: "1,000 hits in Promise.all", sides: WITH_CACHE, way: "turn", isOn: true },
    { id: "cached-peek", title: "peek", sides: PEEKING, way: "peek", isOn: true },
    {
      id: "cache-off",
      title: "1,000 in Promise.all, cache off",
      sides: WITH_CACHE,
      way: "turn",
      isOn: false,
    },
  ],
  measure: measureCached,
};

interface CachingClient {
  get(key: string): Promise<unknown>;
  once(event: "ready", listener: () => void): unknown;
  disconnect(): void;
  readonly cache: { peek(command: string, key: string): unknown };
}

interface NodeRedis {
  createClient(options: unknown): {
    connect(): Promise<unknown>;
    get(key: string): Promise<unknown>;
    on(event: "error", listener: () => void): unknown;
    destroy(): void;
  };
}

async function open(side: SideName, address: Address, isOn: boolean): Promise<Reader> {
  if (side === "redis-nt") {
    const { createClient } = require("redis") as NodeRedis;
    const clientSideCache = isOn ? { ttl: 0, maxEntries: 0, evictPolicy: "LRU" } : undefined;
    const commandOptions = { timeout: undefined };
    const client = createClient({ socket: { ...address }, RESP: 3, clientSideCache, commandOptions });
    client.on("error", () => undefined);
    await client.connect();
    return { get: (key) => client.get(key), close: () => client.destroy() };
  }
  const Redis = loadBuild(buildOf(side));
  const cache = isOn ? { maxBytes: CACHE_BYTES } : undefined;
  const client = new Redis({ ...address, cache }) as unknown as CachingClient;
  await new Promise<void>((resolve) => client.once("ready", resolve));
  return {
    get: (key) => client.get(key),
    peek: (key) => client.cache.peek("get", key),
    close: () => client.disconnect(),
  };
}

async function measureCached({ way, isOn }: CachedRow, context: SampleContext): Promise<Figures> {
  const reader = await open(context.sideName, context.target.nodes[0] as Address, isOn);
  const keys = numbers(KEY_COUNT).map((index) => keyOf("s", index));
  await Promise.all(keys.map((key) => reader.get(freshKey(key))));
  if (way === "peek") {
    const missing = keys.find((key) => typeof reader.peek?.(freshKey(key)) !== "string");
    if (missing !== undefined) throw new Error(`${freshKey(missing)} is not in the cache`);
  }
  const pass = async (durationMs: number): Promise<number> => {
    const clock = new Clock(durationMs, 0, 1);
    let done = 0;
    do {
      if (way === "turn") await Promise.all(keys.map((key) => reader.get(freshKey(key))));
      else if (way === "awaited") for (const key of keys) await reader.get(freshKey(key));
      else for (const key of keys) reader.peek?.(freshKey(key));
      done += TURN;
    } while (!clock.expired());
    return done;
  };
  await pass(context.budget.warmMs);
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await pass(context.budget.measureMs));
  reader.close();
  return figures;
}
