/** A rate limiter, a key-value store, and streams: packages and commands that services use for each request. */

import type { Figures } from "../support/meter";
import type { SampleContext } from "../support/scenario";
import { measureClosedLoop } from "./closed-loop";
import { requirePackage } from "./packages";
import { connectStore } from "./store";

type Arguments = readonly (string | number)[];

export type LibraryWork = "rate-limiter" | "keyv" | "xadd" | "xreadgroup" | "xrange";

/** Any command, whatever the client calls it. */
type Send = (...words: Arguments) => Promise<unknown>;

interface IoredisCommands {
  call(...words: Arguments): Promise<unknown>;
  xadd(...words: Arguments): Promise<unknown>;
  xreadgroup(...words: Arguments): Promise<unknown>;
  xack(...words: Arguments): Promise<unknown>;
  xrange(...words: Arguments): Promise<unknown>;
}

interface NodeRedisCommands {
  sendCommand(words: string[]): Promise<unknown>;
  xAdd(key: string, id: string, message: Record<string, string>, options: unknown): Promise<unknown>;
  xReadGroup(group: string, consumer: string, stream: unknown, options: unknown): Promise<unknown>;
  xAck(key: string, group: string, ids: string[]): Promise<unknown>;
  xRange(key: string, from: string, to: string, options: unknown): Promise<unknown>;
}

/** The stream calls of one client, as its users write them. */
interface Streams {
  readonly send: Send;
  add(key: string, user: number): Promise<unknown>;
  /** Reads entries for a consumer and acknowledges them; how many there were. */
  readAndAcknowledge(key: string, consumer: string): Promise<number>;
  range(key: string): Promise<unknown>;
}

const CALLERS = 50;
const READERS = 5;
const ENTRIES = 100;
const MOST_ENTRIES = 10_000;
const USERS = 1000;
const SECONDS = 600;
const GROUP = "workers";

export async function measureLibrary(work: LibraryWork, context: SampleContext): Promise<Figures> {
  const connected = await connectStore(context.sideName, context.target);
  const { client, isNodeRedis, side } = connected;
  const figures = await measureWork();
  await side.close();
  return figures;

  function measureWork(): Promise<Figures> {
    switch (work) {
      case "rate-limiter":
        return measureRateLimiter(client, isNodeRedis, context);
      case "keyv":
        return measureKeyv(client, context);
      default:
        return measureStreams(work, isNodeRedis ? nodeRedisStreams(client) : ioredisStreams(client), context);
    }
  }
}

function measureRateLimiter(
  storeClient: unknown,
  useRedisPackage: boolean,
  { budget }: SampleContext,
): Promise<Figures> {
  const { RateLimiterRedis } = requirePackage<{
    RateLimiterRedis: new (options: unknown) => { consume(key: string): Promise<unknown> };
  }>("rate-limiter-flexible");
  const limiter = new RateLimiterRedis({
    storeClient,
    useRedisPackage,
    keyPrefix: "limit",
    points: 1_000_000_000,
    duration: SECONDS,
  });
  let at = 0;
  const call = (): Promise<unknown> => limiter.consume(`user-${at++ % USERS}`);
  return measureClosedLoop({ callers: CALLERS, perCall: 1, call }, budget);
}

/** A value is asked for, and every fourth time written. */
async function measureKeyv(client: unknown, { budget }: SampleContext): Promise<Figures> {
  const KeyvRedis = requirePackage<new (client: unknown, options: unknown) => unknown>("@keyv/redis");
  const Keyv =
    requirePackage<
      new (
        options: unknown,
      ) => {
        get(key: string): Promise<unknown>;
        set(key: string, value: unknown, ttl: number): Promise<unknown>;
      }
    >("keyv");
  const keyv = new Keyv({ store: new KeyvRedis(client, { useRedisSets: false }) });
  let at = 0;
  const call = (): Promise<unknown> => {
    const key = `setting-${at++ % USERS}`;
    return at % 4 === 0 ? keyv.set(key, { at, name: key }, SECONDS * 1000) : keyv.get(key);
  };
  return measureClosedLoop({ callers: CALLERS, perCall: 1, call }, budget);
}

async function measureStreams(
  work: "xadd" | "xreadgroup" | "xrange",
  streams: Streams,
  { budget }: SampleContext,
): Promise<Figures> {
  const key = `stream:${process.pid}`;
  await streams.send("XGROUP", "CREATE", key, GROUP, "$", "MKSTREAM");
  let at = 0;
  for (; at < ENTRIES; at++) await streams.add(key, at);
  const add = (): Promise<unknown> => streams.add(key, at++ % USERS);
  // Five writers for each reader keep the group busy.
  const read = (caller: number): Promise<unknown> =>
    caller % (CALLERS / READERS) === 0 ? streams.readAndAcknowledge(key, `consumer-${caller}`) : add();
  const range = (): Promise<unknown> => streams.range(key);
  const calls = { xadd: add, xreadgroup: read, xrange: range };
  const callers = work === "xrange" ? READERS : CALLERS;
  const figures = await measureClosedLoop({ callers, perCall: 1, call: calls[work] }, budget);
  await streams.send("DEL", key);
  return figures;
}

function ioredisStreams(client: unknown): Streams {
  const redis = client as IoredisCommands;
  return {
    send: (...words) => redis.call(...words),
    add: (key, user) =>
      redis.xadd(key, "MAXLEN", "~", MOST_ENTRIES, "*", "user", `user-${user}`, "action", "login"),
    range: (key) => redis.xrange(key, "-", "+", "COUNT", ENTRIES),
    readAndAcknowledge: async (key, consumer) => {
      const found = (await redis.xreadgroup(
        ...["GROUP", GROUP, consumer, "COUNT", ENTRIES, "STREAMS", key, ">"],
      )) as [string, [string, string[]][]][] | null;
      const ids = found?.[0]?.[1].map(([id]) => id) ?? [];
      if (ids.length > 0) await redis.xack(key, GROUP, ...ids);
      return ids.length;
    },
  };
}

function nodeRedisStreams(client: unknown): Streams {
  const redis = client as NodeRedisCommands;
  const TRIM = { strategy: "MAXLEN", strategyModifier: "~", threshold: MOST_ENTRIES };
  return {
    send: (...words) => redis.sendCommand(words.map(String)),
    add: (key, user) => redis.xAdd(key, "*", { user: `user-${user}`, action: "login" }, { TRIM }),
    range: (key) => redis.xRange(key, "-", "+", { COUNT: ENTRIES }),
    readAndAcknowledge: async (key, consumer) => {
      const found = (await redis.xReadGroup(GROUP, consumer, { key, id: ">" }, { COUNT: ENTRIES })) as
        | { messages: { id: string }[] }[]
        | null;
      const ids = found?.[0]?.messages.map(({ id }) => id) ?? [];
      if (ids.length > 0) await redis.xAck(key, GROUP, ids);
      return ids.length;
    },
  };
}
