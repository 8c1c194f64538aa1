/**
 * Consumers of a stream group: `consume()` of sluice, and the loop that programs write by hand on ioredis: a read with BLOCK
 * on a connection of its own, one XACK for each batch, and XAUTOCLAIM at intervals.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { createSide } from "../sides/all-sides";
import { type IoredisLike, IoredisSide } from "../sides/ioredis-side";
import { type Figures, Meter } from "../support/meter";
import type { Row, SampleContext, Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

interface ConsumerRow extends Row {
  measure(client: StreamClient, isSluice: boolean, context: SampleContext): Promise<Figures>;
}

interface StreamClient extends IoredisLike {
  duplicate(): StreamClient;
  call(command: string, ...words: (string | number)[]): Promise<unknown>;
  info(section: string): Promise<string>;
  consume?(options: object, handler: (message: { readonly id: string }) => void): Promise<void>;
}

type Entry = [id: string, fields: string[]];
type Process = (id: string) => void;

const STREAM = "bench:jobs";
const GROUP = "workers";
const COUNT = 50;
const BLOCK_MS = 1000;
const CLAIM_MS = 200;
const MESSAGES = 20_000;
const FILL_BATCH = 1000;
/** Of each consumer that dies. */
const LEFT_BEHIND = 5;
const COMMANDS = /cmdstat_(?:xreadgroup|xack|xautoclaim|xpending|evalsha|eval):calls=(\d+)/g;

export const consumers: Scenario<ConsumerRow> = {
  id: "consumers",
  rounds: 3,
  title: "Consumers of a stream",
  about:
    "A consumer of a stream group that only counts messages. Backlog: 20,000 messages in reads of 50, with all commands of the consumer. Takeover: consumers die with 5 messages each, and the figure is the time beyond `claimIdleMs` (200 ms) until another consumer receives a message. ioredis runs a hand-written loop: XREADGROUP BLOCK on a connection of its own, one XACK for each batch, and XAUTOCLAIM every 200 ms.",
  columns: [
    { figure: "opsPerSecond", title: "messages/s", digits: 0, pick: "median" },
    { figure: "cpuMicros", title: "CPU µs/message", digits: 2, pick: "least" },
    { figure: "commandsPerMessage", title: "commands/message", digits: 3, pick: "median" },
    { figure: "takeoverP50Ms", title: "takeover p50 ms", digits: 0, pick: "median" },
    { figure: "takeoverP99Ms", title: "takeover p99 ms", digits: 0, pick: "median" },
  ],
  rows: [
    { id: "consume-backlog", title: "a backlog", sides: ["sluice", "ioredis"], measure: measureBacklog },
    { id: "consume-takeover", title: "a takeover", sides: ["sluice", "ioredis"], measure: measureTakeover },
  ],
  measure: measureConsumers,
};

async function measureConsumers(row: ConsumerRow, context: SampleContext): Promise<Figures> {
  const side = createSide(context.sideName);
  if (!(side instanceof IoredisSide)) throw new Error(`${context.sideName} has another API`);
  await side.connect(context.target, { autoPipelining: false });
  const client = side.connected() as StreamClient;
  await client.call("DEL", STREAM);
  await client.call("XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM");
  const figures = await row.measure(client, context.sideName === "sluice", context);
  await client.call("DEL", STREAM);
  await side.close();
  return figures;
}

async function fill(client: StreamClient, count: number): Promise<void> {
  for (let done = 0; done < count; done += FILL_BATCH) {
    const batch = Array.from({ length: Math.min(FILL_BATCH, count - done) }, (_, index) =>
      client.call("XADD", STREAM, "*", "n", done + index),
    );
    await Promise.all(batch);
  }
}

/** Runs a consumer until the signal is aborted. */
function run(client: StreamClient, isSluice: boolean, process: Process, signal: AbortSignal): Promise<void> {
  if (!isSluice) return runByHand(client, process, signal);
  const settings = { stream: STREAM, group: GROUP, consumer: "living", count: COUNT, blockMs: BLOCK_MS };
  return client.consume?.({ ...settings, claimIdleMs: CLAIM_MS, signal }, ({ id }) =>
    process(id),
  ) as Promise<void>;
}

async function runByHand(client: StreamClient, process: Process, signal: AbortSignal): Promise<void> {
  const reader = client.duplicate();
  const consumer = "living";
  let claimedAtMs = 0;
  while (!signal.aborted) {
    let entries: Entry[] = [];
    if (performance.now() - claimedAtMs >= CLAIM_MS) {
      claimedAtMs = performance.now();
      const words = [STREAM, GROUP, consumer, CLAIM_MS, "0-0", "COUNT", COUNT];
      [, entries] = (await client.call("XAUTOCLAIM", ...words)) as [string, Entry[]];
    }
    if (entries.length === 0) {
      const words = ["GROUP", GROUP, consumer, "COUNT", COUNT, "BLOCK", CLAIM_MS, "STREAMS", STREAM, ">"];
      // With RESP3 the reply is a map, which `call` returns as a flat list.
      const reply = ((await reader.call("XREADGROUP", ...words)) ?? []) as unknown[];
      entries = (Array.isArray(reply[0]) ? (reply[0] as unknown[])[1] : (reply[1] ?? [])) as Entry[];
    }
    for (const [id] of entries) process(id);
    if (entries.length > 0) await client.call("XACK", STREAM, GROUP, ...entries.map(([id]) => id));
  }
  reader.disconnect();
}

async function commandsOf(client: StreamClient): Promise<number> {
  const stats = await client.info("commandstats");
  return [...stats.matchAll(COMMANDS)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

async function measureBacklog(client: StreamClient, isSluice: boolean): Promise<Figures> {
  const pass = async (): Promise<number> => {
    await fill(client, MESSAGES);
    const stop = new AbortController();
    let count = 0;
    meter.start();
    await run(client, isSluice, () => void (++count === MESSAGES && stop.abort()), stop.signal);
    return count;
  };
  const meter = new Meter();
  await meter.stop(await pass());
  const before = await commandsOf(client);
  const figures = await meter.stop(await pass());
  return { ...figures, commandsPerMessage: ((await commandsOf(client)) - before) / MESSAGES };
}

async function measureTakeover(
  client: StreamClient,
  isSluice: boolean,
  { budget }: SampleContext,
): Promise<Figures> {
  const beganMs = new Map<string, number>();
  const delays = new LatencyRecorder();
  const stop = new AbortController();
  const process = (id: string): void => {
    const began = beganMs.get(id);
    if (began !== undefined) delays.record(performance.now() - began - CLAIM_MS);
  };
  const running = run(client, isSluice, process, stop.signal);
  const dying = client.duplicate();
  const endMs = performance.now() + budget.measureMs;
  for (let n = 0; performance.now() < endMs; n++) {
    // In one transaction, so that only the dying consumer can read them.
    dying.call("MULTI");
    for (let index = 0; index < LEFT_BEHIND; index++) void dying.call("XADD", STREAM, "*", "n", index);
    const words = ["GROUP", GROUP, `dead-${n}`, "COUNT", LEFT_BEHIND, "STREAMS", STREAM, ">"];
    void dying.call("XREADGROUP", ...words);
    const replies = (await dying.call("EXEC")) as unknown[];
    for (const id of replies.slice(0, LEFT_BEHIND)) beganMs.set(String(id), performance.now());
    // Any phase of the claiming interval is as likely.
    await sleep(Math.random() * CLAIM_MS);
  }
  await sleep(4 * CLAIM_MS);
  stop.abort();
  await running;
  dying.disconnect();
  const { p50Micros, p99Micros } = delays.quantiles() ?? { p50Micros: Number.NaN, p99Micros: Number.NaN };
  return { takeoverP50Ms: p50Micros / 1000, takeoverP99Ms: p99Micros / 1000 };
}
