/** The client classes: constructors, mapping of replies, events, status, options. */

import Redis, {
  type ChainableCommander,
  type ClientContext,
  type LeasedConnection,
  type Lock,
  type MessageEntry,
  type MessageGap,
  type Redis as NamedRedis,
  type RedisCommander,
  type RedisOptions,
  type RedisStatus,
  type Result,
  type RowError,
  type ScanStreamOptions,
  SentinelConnector,
  type StreamMessage,
  type StreamMessages,
} from "sluice";
import { same } from "./same";

export function constructors(options: RedisOptions) {
  same<Redis, NamedRedis>();
  new Redis();
  new Redis(6380);
  new Redis("redis://localhost");
  new Redis(6380, "localhost");
  new Redis(6380, { db: 1 });
  new Redis("/run/redis.sock", { db: 1 });
  new Redis(6380, "localhost", { lazyConnect: true });
  const open = new Redis(options);
  const legacy: Redis = open;
  same<ReturnType<typeof open.zscore>, Promise<string | null>>();
  // @ts-expect-error no such argument
  new Redis(true);
  // @ts-expect-error the port is a number
  new Redis({ port: "6380" });
  const sentinels = [{ host: "a", port: 26379 }] as const;
  new SentinelConnector({ sentinels, name: "m" });
  return legacy;
}

export function mappings() {
  const legacy = new Redis({ protocol: 3 });
  same<typeof legacy, Redis<"legacy">>();
  const resp3 = new Redis({ replyMapping: "resp3" });
  same<typeof resp3, Redis<"resp3">>();
  const named = new Redis(6379, "localhost", { replyMapping: "resp3" });
  same<typeof named, Redis<"resp3">>();
  const copy = resp3.duplicate();
  same<typeof copy, Redis<"resp3">>();
  const back = resp3.duplicate({ replyMapping: "legacy" });
  same<typeof back, Redis<"legacy">>();
  const kept = resp3.duplicate({ db: 1 });
  same<typeof kept, Redis<"resp3">>();
  // @ts-expect-error replies of the two mappings differ
  const wrong: Redis = resp3;
  return wrong;
}

export async function members(redis: Redis) {
  same<typeof redis.status, RedisStatus>();
  same<typeof redis.mode, "normal" | "subscriber" | "monitor">();
  same<typeof redis.autoPipelineQueueSize, number>();
  const isCluster: boolean = redis.isCluster;
  await redis.connect((error) => error?.message);
  const left = await redis.quit();
  same<typeof left, "OK">();
  same<ReturnType<typeof redis.quit>, Promise<"OK">>();
  redis.disconnect(true);
  const monitor = await redis.monitor();
  same<typeof monitor, Redis>();
  const settings: ScanStreamOptions = { match: "a*", count: 10 };
  for await (const keys of redis.scanStream(settings)) keys;
  redis.hscanStream("key", { noValues: true }).on("data", (chunk: string[]) => chunk);
  const names: string[] = redis.getBuiltinCommands();
  return [isCluster, names];
}

export function events(redis: Redis) {
  const self = redis
    .on("message", (channel, message) => same<[typeof channel, typeof message], [string, string]>())
    .on("messageBuffer", (channel, message) => same<[typeof channel, typeof message], [Buffer, Buffer]>())
    .on("pmessage", (pattern, channel, message) => same<typeof message | typeof pattern, string>())
    .once("pmessageBuffer", (pattern, channel, message) => {
      same<[typeof pattern, typeof channel, typeof message], [string, Buffer, Buffer]>();
    })
    .on("error", (error) =>
      same<[typeof error.code, typeof error.hint], [string | undefined, string | undefined]>(),
    )
    .once("ready", () => {})
    .on("reconnecting", (delayMs) => same<typeof delayMs, number>())
    .on("select", (db) => same<typeof db, number>())
    .on("busy", (error) => same<typeof error, Error>())
    .on("gap", ({ channels, lastedMs }) => same<[typeof channels, typeof lastedMs], [string[], number]>())
    .on("anything", (...args) => args)
    .off("anything", () => {});
  same<typeof self, Redis>();
}

export function commanders(redis: Redis, pipeline: ChainableCommander) {
  const client: RedisCommander<{ type: "default"; mapping: "resp2" }> = redis;
  const commander: RedisCommander = redis;
  const batch: RedisCommander<{ type: "pipeline"; mapping: "resp2" }> = pipeline;
  const context: ClientContext = { type: "default" };
  same<Result<string, { type: "default" }>, Promise<string>>();
  return [client, commander, batch, context];
}

export class Store extends Redis {
  override disconnect(reconnect?: boolean): void {
    super.disconnect(reconnect);
  }
  async fetch(key: string) {
    return this.get(key);
  }
}

/** Wrappers that are generic in where they are called. */
export function generic<Context extends ClientContext>(commander: RedisCommander<Context>) {
  return commander.get("key");
}

/** The named exports are on the class as well. */
export function statics() {
  const command = new Redis.Command("get", ["key"], { replyEncoding: "utf8" });
  const isReply = new Error("text") instanceof Redis.ReplyError;
  Redis.print(null, "reply");
  const another: Redis = Redis.createClient(6380, "localhost");
  return [command, isReply, Redis.defaultOptions, Redis.Pipeline, Redis.ScanStream, another];
}

export async function leases(redis: Redis, cluster: Redis.Cluster, resp3: Redis<"resp3">) {
  const own = await redis.lease({ waitMs: 100 });
  same<typeof own, LeasedConnection>();
  same<ReturnType<typeof own.get>, Promise<string | null>>();
  own.on("message", (channel, message) => channel + message);
  await own.release();
  same<Awaited<ReturnType<typeof resp3.lease>>, LeasedConnection<"resp3">>();
  const length = await cluster.withConnection((one) => one.strlen("k"), { slot: 1 });
  same<typeof length, number>();
  // @ts-expect-error a cluster needs to know the node
  await cluster.lease();
  const rows = await redis.transaction(["a", "b"], async (one) => one.multi().get("a").incr("b"));
  same<typeof rows, [[RowError | null, string | null], [RowError | null, number]]>();
  const same2 = await cluster.transaction("a", (one) => one.multi().incr("a"), { attempts: 3 });
  same<typeof same2, [[RowError | null, number]]>();
  // @ts-expect-error the function returns a transaction
  await redis.transaction("a", async (one) => one.get("a"));
}

export async function locks(redis: Redis, cluster: Redis.Cluster) {
  await using lock = await redis.lock("k", { ttl: 1000, wait: 0, signal: new AbortController().signal });
  same<typeof lock, Lock>();
  same<typeof lock.fence, number>();
  same<Awaited<ReturnType<typeof lock.release>>, boolean>();
  same<ReturnType<typeof cluster.lock>, Promise<Lock>>();
  // @ts-expect-error no such setting
  await redis.lock("k", { timeout: 1 });
}

export async function consumers(redis: Redis, cluster: Redis.Cluster, resp3: Redis<"resp3">) {
  const settings = { stream: "s", group: "g", consumer: "c" };
  const loop = redis.consume({ ...settings, deadLetter: { stream: "d" }, create: false });
  same<typeof loop, StreamMessages>();
  for await (const message of loop) {
    same<typeof message, StreamMessage>();
    same<typeof message.fields, Readonly<Record<string, string>>>();
    same<ReturnType<typeof message.ack>, Promise<void>>();
  }
  for await (const message of cluster.consume({ ...settings, stream: ["a", "b"], buffers: true })) {
    same<typeof message.pairs, readonly Buffer[]>();
  }
  const ended = resp3.consume(
    { ...settings, concurrency: 5, onError: (error, { id }) => [error, id] },
    async (message) => {
      same<typeof message, StreamMessage>();
    },
  );
  same<typeof ended, Promise<void>>();
  await cluster.consume({ ...settings, buffers: true }, (message) => message.fields["f"]?.readInt8());
  // @ts-expect-error a loop processes one message after the other
  redis.consume({ ...settings, concurrency: 2 });
  // @ts-expect-error a consumer has a group
  redis.consume({ stream: "s", consumer: "c" });
}

export async function readers(redis: Redis, cluster: Redis.Cluster) {
  for await (const entry of redis.messages(["news", "sport"], { maxBuffered: 10, onOverflow: "error" })) {
    same<typeof entry, MessageEntry>();
    if (entry.kind === "message") same<typeof entry.message, string>();
    else same<typeof entry, MessageGap>();
  }
  for await (const entry of cluster.messages("news", { kind: "shard", buffers: true })) {
    if (entry.kind === "message") same<typeof entry.message, Buffer>();
  }
  for await (const entry of cluster.keyspaceEvents({ keys: "user:*", events: ["set", "expired"] })) {
    if (entry.kind === "event") same<[typeof entry.key, typeof entry.db], [string, number]>();
  }
  // @ts-expect-error no such policy
  redis.messages("news", { onOverflow: "drop" });
}

export async function wholeClusters(cluster: Redis.Cluster) {
  const sizes = await cluster.onAll("dbsize", [], { nodes: "masters" });
  for (const [node, reply] of sizes.replies) same<[typeof node, typeof reply], [string, number]>();
  same<ReturnType<typeof sizes.merged>, number>();
  const [cursor, keys] = await cluster.scanPage("0", { match: "user:*", count: 100 });
  same<[typeof cursor, typeof keys], [string, string[]]>();
  // @ts-expect-error no such nodes
  await cluster.onAll("dbsize", [], { nodes: "primaries" });
}
