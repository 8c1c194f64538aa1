/**
 * Counts what a client does for its commands, in figures that do not depend on the clock: bytes allocated,
 * socket writes, promises. The regression guard compares them with the stored ones.
 *
 * Run it in a separate process with `COUNT_FLAGS`: the young generation must hold everything that is counted.
 */

import { createHook } from "node:async_hooks";
import type { Duplex } from "node:stream";
import { type IoredisLikeClass, IoredisSide } from "../sides/ioredis-side";
import type { Address, Issue } from "../sides/side";
import { countAllocatedBytes } from "./allocated-bytes";
import { nameOf, numbers, textOf } from "./dataset";

export interface Counts {
  /** Bytes on the V8 heap. */
  readonly bytesPerCommand: number;
  readonly writesPerBatch: number;
  readonly promisesPerBatch: number;
}

/** In `turn-once`, nothing leaves before the end of the run. */
export type CountedLoad = "awaited" | "turn" | "turn-once" | "turn-auto" | "pipeline";

export const COUNT_FLAGS: readonly string[] = [
  "--expose-gc",
  "--min-semi-space-size=128",
  "--max-semi-space-size=128",
];

/** Commands of one batch: one turn, or one pipeline. Small enough for one socket write. */
export const BATCH_COMMANDS = 500;
const WARM_UP_BATCHES = 150;
const COUNTED_BATCHES = 20;
const COUNTED_SINGLES = 1000;
const ATTEMPTS = 5;
const VALUE_BYTES = 16;

export async function countLoads(
  Redis: IoredisLikeClass,
  address: Address,
): Promise<Record<CountedLoad, Counts>> {
  return {
    awaited: await countLoad(Redis, address, "awaited"),
    turn: await countLoad(Redis, address, "turn"),
    "turn-once": await countLoad(Redis, address, "turn-once"),
    "turn-auto": await countLoad(Redis, address, "turn-auto"),
    pipeline: await countLoad(Redis, address, "pipeline"),
  };
}

async function countLoad(Redis: IoredisLikeClass, address: Address, load: CountedLoad): Promise<Counts> {
  const side = new IoredisSide(load, () => Redis);
  const flushPolicy = load === "turn-once" ? "turn" : "adaptive";
  const choices = { autoPipelining: load === "turn-auto", flushPolicy } as const;
  await side.connect({ nodes: [address], isCluster: false }, choices);
  const batch = batchOf(side, load);
  const commands = load === "awaited" ? 1 : BATCH_COMMANDS;
  for (let round = 0; round < WARM_UP_BATCHES; round++) await batch();
  const rounds = load === "awaited" ? COUNTED_SINGLES : COUNTED_BATCHES;
  const work = (): Promise<void> => repeat(batch, rounds);
  const harness = emptyBatch(load);
  const { stream } = side.connected() as unknown as { stream: Duplex };
  const bytes = await least(() => countAllocatedBytes(work));
  const writes = await least(() => countWrites(stream, work));
  const promises =
    (await least(() => countPromises(work))) -
    (await least(() => countPromises(() => repeat(harness, rounds))));
  await side.close();
  return {
    bytesPerCommand: bytes / rounds / commands,
    writesPerBatch: writes / rounds,
    promisesPerBatch: promises / rounds,
  };
}

interface Pair {
  readonly key: string;
  readonly value: string;
}

/** SET and GET by turns, with strings made beforehand: what is counted is the client's own. */
function batchOf(side: IoredisSide, load: CountedLoad): Issue {
  const client = side.connected();
  const pairs: Pair[] = numbers(BATCH_COMMANDS).map((index) => ({
    key: nameOf("s", index),
    value: textOf(nameOf("s", index), VALUE_BYTES),
  }));
  if (load === "pipeline") {
    return () => {
      const pipeline = client.pipeline();
      // An iterator over entries would make objects of its own, which are counted with those of the client.
      for (let index = 0; index < pairs.length; index++) {
        const { key, value } = pairs[index] as Pair;
        if (index % 2 === 0) pipeline.set(key, value);
        else pipeline.get(key);
      }
      return pipeline.exec();
    };
  }
  const issues = pairs.map(({ key, value }, index) =>
    index % 2 === 0 ? () => client.set(key, value) : () => client.get(key),
  );
  return load === "awaited" ? (issues[0] as Issue) : turnOf(issues);
}

function turnOf(issues: readonly Issue[]): Issue {
  return () => Promise.all(issues.map((issue) => issue()));
}

/** The same harness around nothing: what it makes itself is taken off the count of promises. */
function emptyBatch(load: CountedLoad): Issue {
  const settled = Promise.resolve();
  const nothing = (): Promise<unknown> => settled;
  return load.startsWith("turn") ? turnOf(new Array<Issue>(BATCH_COMMANDS).fill(nothing)) : nothing;
}

async function repeat(batch: Issue, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) await batch();
}

/** The least of several attempts: compilation, and timers of the engine and of the client, add to some of them. */
async function least(count: () => Promise<number>): Promise<number> {
  let fewest = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    globalThis.gc?.();
    fewest = Math.min(fewest, await count());
  }
  return fewest;
}

/** Write requests that the socket hands to the operating system, one or many buffers each. */
async function countWrites(stream: Duplex, work: () => Promise<void>): Promise<number> {
  let writes = 0;
  const write = stream._write;
  const writev = stream._writev;
  stream._write = (chunk, encoding, done) => {
    writes++;
    write.call(stream, chunk, encoding, done);
  };
  stream._writev = (chunks, done) => {
    writes++;
    writev?.call(stream, chunks, done);
  };
  await work();
  stream._write = write;
  if (writev !== undefined) stream._writev = writev;
  return writes;
}

async function countPromises(work: () => Promise<void>): Promise<number> {
  let promises = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") promises++;
    },
  });
  hook.enable();
  await work();
  hook.disable();
  return promises;
}
