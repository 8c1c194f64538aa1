/**
 * The cost of a message for its subscriber: a process on the server's CPU publishes as fast as the server
 * accepts messages, and the client counts them. Each side uses its own API, with one listener for all
 * channels.
 */

import { once } from "node:events";
import { createSide, type SideName } from "../sides/all-sides";
import { IoredisSide } from "../sides/ioredis-side";
import type { NodeRedisSide } from "../sides/node-redis-side";
import { type Address, type ConnectChoices, isClientSide, type Side, type Target } from "../sides/side";
import { spawnNode } from "../support/child-process";
import { Clock } from "../support/clock";
import { keyOf } from "../support/dataset";
import { channelOf } from "../support/flood-process";
import { type Figures, Meter } from "../support/meter";
import { P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

interface MessagesRow extends Row {
  readonly bytes: number;
  readonly channels: number;
  readonly protocol: 2 | 3;
  readonly way: "channels" | "patterns" | "shards";
  readonly isBuffer: boolean;
  /** Messages a second; absent: as many as the server gives. */
  readonly pace?: number;
}

type Listener = (message: unknown) => void;

interface IoredisSubscriber {
  subscribe(...channels: string[]): Promise<unknown>;
  psubscribe(...patterns: string[]): Promise<unknown>;
  ssubscribe(...channels: string[]): Promise<unknown>;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
}

interface NodeRedisSubscriber {
  subscribe(channels: string[], listener: Listener, isBuffer: boolean): Promise<unknown>;
  pSubscribe(patterns: string[], listener: Listener, isBuffer: boolean): Promise<unknown>;
  sSubscribe(channels: string[], listener: Listener, isBuffer: boolean): Promise<unknown>;
}

type GlideModule = typeof import("@valkey/valkey-glide");

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey", "redis-nt", "glide"];
/** Those that speak RESP3 to subscribers and give Buffers where asked. */
const RESP3_SIDES: readonly SideName[] = ["sluice", "before", "redis-nt", "glide"];
const WITHOUT_GLIDE: readonly SideName[] = ["sluice", "before", "ioredis", "iovalkey", "redis-nt"];
const SETTLE_MS = 100;

function row(fields: Pick<MessagesRow, "id" | "title"> & Partial<MessagesRow>): MessagesRow {
  return {
    bytes: 16,
    channels: 1,
    protocol: 2,
    way: "channels",
    isBuffer: false,
    sides: WITHOUT_GLIDE,
    ...fields,
  };
}

export const pubsub: Scenario<MessagesRow> = {
  id: "pubsub",
  rounds: 2,
  title: "Messages of channels",
  about:
    "A process on the server's CPU publishes as fast as the server allows. CPU is that of the subscriber for each message. ioredis and iovalkey support only RESP2, glide only RESP3. The last row is the latency of a caller that awaits GETs on a second connection, in a process that receives 20,000 messages a second.",
  columns: [
    { figure: "opsPerSecond", title: "messages/s", digits: 0, pick: "median" },
    { figure: "cpuMicros", title: "CPU µs/message", digits: 2, pick: "least" },
    P50,
    P99,
  ],
  rows: [
    row({ id: "messages-16-resp2", title: "16 B, RESP2" }),
    row({ id: "messages-16-resp3", title: "16 B, RESP3", protocol: 3, sides: RESP3_SIDES }),
    row({ id: "messages-16-buffer", title: "16 B as Buffers", isBuffer: true }),
    row({ id: "messages-16-100", title: "16 B, 100 channels", channels: 100 }),
    row({ id: "messages-1k", title: "1 KiB", bytes: 1024, sides: SIDES, protocol: 3 }),
    row({ id: "messages-pattern", title: "16 B, by a pattern", way: "patterns" }),
    row({ id: "messages-shard", title: "16 B, shard channel", way: "shards" }),
    row({ id: "messages-beside", title: "GETs beside 20,000 messages a second", pace: 20_000 }),
  ],
  measure: measureMessages,
};

/** ioredis and iovalkey support only RESP2, so they use it also in rows with RESP3. */
function choicesFor({ protocol }: MessagesRow, side: SideName): ConnectChoices {
  const isFixed = side === "ioredis" || side === "iovalkey";
  return { autoPipelining: false, protocol: isFixed ? 2 : protocol };
}

async function measureMessages(row: MessagesRow, context: SampleContext): Promise<Figures> {
  let heard = 0;
  const side = await listen(row, context, () => heard++);
  const { host, port } = context.target.nodes[0] as Address;
  const command = row.way === "shards" ? "SPUBLISH" : "PUBLISH";
  const words = [host, port, command, row.channels, row.bytes, row.pace ?? 0].map(String);
  const flood = spawnNode({ script: "support/flood-process.js", args: words, cpu: context.serverCpu });
  await once(flood.stdout as NodeJS.ReadableStream, "data");
  const count = row.pace === undefined ? hearFor(() => heard) : await askFor(context);
  await count(context.budget.warmMs + SETTLE_MS);
  const meter = new Meter();
  const latencies = new LatencyRecorder();
  meter.start();
  const figures = await meter.stop(await count(context.budget.measureMs, latencies.record));
  flood.stdin?.end();
  await side.close();
  return { ...figures, ...latencies.quantiles() };
}

type Count = (durationMs: number, record?: (ms: number) => void) => Promise<number>;

function hearFor(heard: () => number): Count {
  return async (durationMs) => {
    const before = heard();
    await new Promise((resolve) => setTimeout(resolve, durationMs));
    if (heard() === before) throw new Error("no message was heard");
    return heard() - before;
  };
}

/** A caller beside the subscriber, on a connection of its own. */
async function askFor({ sideName, target }: SampleContext): Promise<Count> {
  const side = createSide(sideName);
  await side.connect(target, { autoPipelining: false });
  if (!isClientSide(side)) throw new Error(`${side.name} offers no single commands`);
  const load = await side.prepare({
    kind: "callers",
    width: 1,
    operations: [{ kind: "get", key: keyOf("s", 1) }],
  });
  return (durationMs, record) => load(new Clock(durationMs, 0, 1), record);
}

async function listen(row: MessagesRow, { sideName, target }: SampleContext, hear: Listener): Promise<Side> {
  if (sideName === "glide") return listenWithGlide(row, target, hear);
  const side = createSide(sideName);
  await side.connect(target, choicesFor(row, sideName));
  const channels = Array.from({ length: row.channels }, (_, index) => channelOf(index));
  const names = row.way === "patterns" ? ["channel:*"] : channels;
  if (side instanceof IoredisSide) {
    await listenWithIoredis(row, side.connected() as unknown as IoredisSubscriber, names, hear);
  } else {
    await listenWithNodeRedis(row, (side as NodeRedisSide).connection() as NodeRedisSubscriber, names, hear);
  }
  return side;
}

async function listenWithIoredis(
  { way, isBuffer }: MessagesRow,
  redis: IoredisSubscriber,
  names: string[],
  hear: Listener,
): Promise<void> {
  const end = isBuffer ? "Buffer" : "";
  if (way === "patterns") {
    redis.on(`pmessage${end}`, (_pattern, _channel, message) => hear(message));
    await redis.psubscribe(...names);
  } else if (way === "shards") {
    redis.on(`smessage${end}`, (_channel, message) => hear(message));
    await redis.ssubscribe(...names);
  } else {
    redis.on(`message${end}`, (_channel, message) => hear(message));
    await redis.subscribe(...names);
  }
}

async function listenWithNodeRedis(
  { way, isBuffer }: MessagesRow,
  redis: NodeRedisSubscriber,
  names: string[],
  hear: Listener,
): Promise<void> {
  const method = { channels: "subscribe", patterns: "pSubscribe", shards: "sSubscribe" } as const;
  await redis[method[way]](names, hear, isBuffer);
}

/** It takes its subscriptions with its connection. */
async function listenWithGlide(row: MessagesRow, { nodes }: Target, hear: Listener): Promise<Side> {
  const { GlideClient, GlideClientConfiguration } = require("@valkey/valkey-glide") as GlideModule;
  const channels = new Set(Array.from({ length: row.channels }, (_, index) => channelOf(index)));
  const client = await GlideClient.createClient({
    addresses: nodes.map(({ host, port }) => ({ host, port })),
    pubsubSubscriptions: {
      channelsAndPatterns: { [GlideClientConfiguration.PubSubChannelModes.Exact]: channels },
      callback: hear,
    },
  });
  return {
    name: "glide",
    connect: async () => undefined,
    prepare: async () => async () => 0,
    close: async () => client.close(),
  };
}
