/**
 * A process of its own that opens and closes many clients and says what they left behind. Run by
 * `test/fault/leaks.test.ts` with `--expose-gc`, which gives it the kind of life each client has,
 * how many, and where the servers are, as JSON; it prints its report as JSON.
 *
 * It counts clients that are still alive after a collection (exact), heap kept per client,
 * handles and timers, and listeners on the process and on an abort signal that all of them shared.
 */

import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Cluster, Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";

export interface LeakTask {
  readonly life: keyof typeof LIVES;
  readonly count: number;
  readonly redis?: RedisOptions;
  readonly cluster?: readonly { readonly host: string; readonly port: number }[];
}

export interface LeakReport {
  readonly clients: number;
  /** Clients that a collection did not free. */
  readonly alive: number;
  readonly heapBytesPerClient: number;
  /** Memory of buffers, which is not part of the heap. */
  readonly outsideBytesPerClient: number;
  /** Handles and timers by name, those that were there before taken off. */
  readonly left: Readonly<Record<string, number>>;
  readonly processListeners: number;
  readonly signalListeners: number;
}

type AnyClient = Redis | Cluster;

const SIDE_BY_SIDE = 50;
const WARM_UP = 60;
const COLLECTIONS = 6;
const HANDLES_GONE_WITHIN_MS = 5_000;

const task = JSON.parse(process.argv[2] ?? "{}") as LeakTask;
const born: WeakRef<AnyClient>[] = [];
/** Given to many clients. */
const { signal } = new AbortController();
/** Says nothing to GET and PING. */
let silent: FakeServer | null = null;

function note<Client extends AnyClient>(client: Client): Client {
  born.push(new WeakRef(client));
  client.on("error", () => {});
  return client;
}

function open(options: RedisOptions = {}): Redis {
  return note(new Redis({ ...task.redis, ...options }));
}

async function close(client: AnyClient, isPolite: boolean): Promise<void> {
  const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
  if (client.status === "end") return;
  if (isPolite) await client.quit();
  else client.disconnect();
  await ended;
}

async function use(redis: AnyClient, key: string): Promise<void> {
  await redis.set(key, "value", "EX", 100);
  await Promise.all([redis.get(key), redis.pipeline().incr(`{${key}}n`).del(`{${key}}n`).exec()]);
  await redis.multi().get(key).del(key).exec();
}

function untilMessage(redis: AnyClient, event: string): Promise<void> {
  return new Promise((resolve) => redis.once(event, () => resolve()));
}

/** One life of one client (or of a few that belong together), by name. */
const LIVES = {
  plain: async (i: number) => {
    const redis = open({ protocol: i % 3 === 0 ? 2 : 3, enableAutoPipelining: i % 2 === 0 });
    await use(redis, `leak:${i}`);
    await close(redis, i % 2 === 0);
  },

  "closed too early": async (i: number) => {
    const redis = open(
      i % 4 === 0
        ? { port: 1, retryStrategy: () => 60_000 }
        : { port: silent?.port, lazyConnect: i % 4 === 1 },
    );
    const call = redis.get("key").catch(() => {});
    if (i % 4 === 0) await untilMessage(redis, "reconnecting");
    if (i % 4 === 2) await untilMessage(redis, "connect");
    await close(redis, false);
    await call;
  },

  "never connected": async () => {
    open({ lazyConnect: true });
  },

  "pub/sub": async (i: number) => {
    const redis = open({ protocol: i % 2 === 0 ? 2 : 3 });
    const publisher = open();
    const heard = untilMessage(redis, "message");
    await redis.subscribe(`leak:${i}`);
    await redis.psubscribe("leak:pattern*");
    await publisher.publish(`leak:${i}`, "text");
    await heard;
    await Promise.all([close(redis, i % 3 === 0), close(publisher, true)]);
  },

  "blocking connections": async (i: number) => {
    const redis = open({ blockingConnections: 2 });
    await redis.rpush(`leak:${i}`, "a");
    await redis.blpop(`leak:${i}`, 1);
    const waiting = redis.blpop(`leak:${i}`, 0).catch(() => {});
    await redis.ping();
    await close(redis, false);
    await waiting;
  },

  "limits and signals": async (i: number) => {
    const redis = open({ commandTimeout: 60_000, blockingTimeout: 60_000, bounds: { maxCommands: 100 } });
    const own = new AbortController();
    const view = redis.with({ timeout: 30_000, signal });
    await use(view, `leak:${i}`);
    const given = redis
      .with({ signal: own.signal })
      .blpop(`leak:${i}`, 0)
      .catch(() => {});
    const late = redis
      .with({ timeout: 1 })
      .blpop(`leak:${i}`, 0)
      .catch(() => {});
    const cut = redis
      .with({ signal, timeout: 60_000 })
      .blpop(`leak:${i}`, 0)
      .catch(() => {});
    own.abort();
    await Promise.all([given, late]);
    await close(redis, false);
    await cut;
  },

  watchdog: async (i: number) => {
    // The server says nothing more after the handshake; half of the clients close while it is probed.
    const probeTimeoutMs = i % 2 === 0 ? 10 : 60_000;
    const redis = open({ port: silent?.port, watchdog: { idleMs: 10, probeTimeoutMs } });
    const isBusy = untilMessage(redis, "busy");
    const call = redis.get("key").catch(() => {});
    await (i % 2 === 0 ? isBusy : Promise.race([isBusy, sleep(60)]));
    await close(redis, false);
    await call;
  },

  "duplicates and monitors": async (i: number) => {
    const redis = open();
    redis.defineCommand("leakScript", { numberOfKeys: 0, lua: "return 1" });
    const twin = note(redis.duplicate());
    const monitor = note(await redis.monitor());
    await use(twin, `leak:${i}`);
    await redis.bulk([["ping"], ["ping"]]).summary();
    monitor.disconnect();
    await Promise.all([close(twin, true), close(redis, false)]);
  },

  cluster: async (i: number) => {
    const options: ClusterOptions = { enableAutoPipelining: i % 2 === 0, shardedSubscribers: true };
    const cluster = note(new Cluster([...(task.cluster ?? [])], options));
    await use(cluster, `leak:${i}`);
    const view = cluster.with({ timeout: 30_000, signal });
    await view.pipeline().get("a").get("b").get("c").exec();
    await cluster.subscribe("leak");
    await cluster.ssubscribe("leak:shard");
    const twin = note(cluster.duplicate());
    await twin.ping();
    await Promise.all([close(cluster, i % 3 === 0), close(twin, false)]);
  },

  sentinel: async (i: number) => {
    const redis = open({ role: i % 4 === 0 ? "slave" : "master", failoverDetector: i % 2 === 0 });
    await redis.ping();
    await close(redis, i % 3 === 0);
  },
};

async function run(from: number, count: number): Promise<void> {
  const live = LIVES[task.life];
  const half = from + Math.ceil(count / 2);
  for (let i = from; i < half; i++) await live(i);
  for (let i = half; i < from + count; i += SIDE_BY_SIDE) {
    const size = Math.min(SIDE_BY_SIDE, from + count - i);
    await Promise.all(Array.from({ length: size }, (_, k) => live(i + k)));
  }
}

async function collect(): Promise<NodeJS.MemoryUsage> {
  for (let i = 0; i < COLLECTIONS; i++) {
    await sleep(20);
    globalThis.gc?.();
  }
  return process.memoryUsage();
}

function countHandles(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function handlesSince(before: ReadonlyMap<string, number>): Record<string, number> {
  const left: Record<string, number> = {};
  for (const [name, count] of countHandles()) {
    const surplus = count - (before.get(name) ?? 0);
    if (surplus > 0) left[name] = surplus;
  }
  return left;
}

/** Sockets that closed a moment ago take a few turns, on a busy machine also some time. */
async function untilHandlesAreGone(before: ReadonlyMap<string, number>): Promise<Record<string, number>> {
  const deadline = Date.now() + HANDLES_GONE_WITHIN_MS;
  let left = handlesSince(before);
  while (Object.keys(left).length > 0 && Date.now() < deadline) {
    await new Promise((resolve) => setImmediate(resolve));
    left = handlesSince(before);
  }
  return left;
}

function listenersOfProcess(): number {
  return process.eventNames().reduce((sum, event) => sum + process.listenerCount(event), 0);
}

async function main(): Promise<void> {
  const unanswered = ["get", "ping"];
  silent = await FakeServer.start((words) =>
    unanswered.includes(words[0]?.toLowerCase() ?? "") ? NO_REPLY : undefined,
  );
  await run(0, WARM_UP);
  const before = await collect();
  const handles = countHandles();
  const listeners = listenersOfProcess();
  born.length = 0;
  await run(WARM_UP, task.count);
  const left = await untilHandlesAreGone(handles);
  silent.received.length = 0;
  const after = await collect();
  const clients = born.length;
  const report: LeakReport = {
    clients,
    alive: born.filter((client) => client.deref() !== undefined).length,
    heapBytesPerClient: Math.round((after.heapUsed - before.heapUsed) / clients),
    outsideBytesPerClient: Math.round((after.arrayBuffers - before.arrayBuffers) / clients),
    left,
    processListeners: listenersOfProcess() - listeners,
    signalListeners: getEventListeners(signal, "abort").length,
  };
  process.stdout.write(`${JSON.stringify(report)}\n`);
  await silent.stop();
}

// It ends by itself: whatever still runs would keep it, and the test would see its time limit.
main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
