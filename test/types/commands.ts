/** Arguments and replies of single commands: what must compile, what must not, and to which type. */

import type Redis from "sluice";
import type { Callback, RedisKey, RedisValue } from "sluice";
import { same } from "./same";

declare const redis: Redis;
declare const resp3: Redis<"resp3">;
declare const list: string[];
declare const constants: readonly string[];
declare const buffer: Buffer;

export async function strings() {
  same<Promise<string | null>, ReturnType<typeof redis.get>>();
  same<string | null, Awaited<ReturnType<typeof redis.get>>>();
  const text = await redis.get("key");
  same<typeof text, string | null>();
  const bytes = await redis.getBuffer(buffer);
  same<typeof bytes, Buffer | null>();
  // @ts-expect-error too many arguments
  redis.get("key", "more");
  // @ts-expect-error a number is no key
  redis.get(1);
  // @ts-expect-error a key is missing
  redis.get();
  redis.get("key", (error, value) => {
    same<typeof error, Error | null | undefined>();
    same<typeof value, string | null | undefined>();
  });

  const plain = await redis.set("key", 1);
  same<typeof plain, "OK">();
  const conditional = await redis.set("key", "value", "EX", 10, "NX");
  same<typeof conditional, "OK" | null>();
  const before = await redis.set("key", "value", "PX", "10", "GET");
  same<typeof before, string | null>();
  const reversed = await redis.set("key", "value", "NX", "EX", 10);
  same<typeof reversed, "OK" | null>();
  const swapped = await redis.set("key", "value", "XX", "GET", "KEEPTTL");
  same<typeof swapped, string | null>();
  const compared = await redis.set("key", "value", "IFEQ", "old");
  same<typeof compared, "OK" | null>();
  const both = await redis.setBuffer("key", "value", "GET");
  same<typeof both, Buffer | null>();
  redis.set("key", buffer, "EX", 10, (error, reply) => same<typeof reply, "OK" | undefined>());
  redis.set("key", "value", "NX", (error, reply) => same<typeof reply, "OK" | null | undefined>());
  // @ts-expect-error option words are upper case
  redis.set("key", "value", "ex", 10);
  // @ts-expect-error EX takes a number
  redis.set("key", "value", "EX");
  // @ts-expect-error no such option
  redis.set("key", "value", "FOR", 10);
  // @ts-expect-error null is no value
  redis.set("key", null);
  // @ts-expect-error a boolean is no value
  redis.set("key", true);
  // @ts-expect-error a bigint is no value
  redis.set("key", 10n);

  same<Promise<number>, ReturnType<typeof redis.incr>>();
  const float = await resp3.incrbyfloat("key", 0.5);
  same<typeof float, string>();
  const several = await redis.mget("a", "b");
  same<typeof several, (string | null)[]>();
  await redis.getex("key", "PERSIST");
  // @ts-expect-error PERSIST takes nothing
  redis.getex("key", "PERSIST", 1);
}

export async function lists() {
  await redis.del("a", "b");
  await redis.del(["a", "b"]);
  await redis.del(constants, (error, count) => same<typeof count, number | undefined>());
  await redis.del(...list);
  await redis.del("a", buffer, (error, count) => same<typeof count, number | undefined>());
  await redis.sadd("key", ["a", "b"], "c", 1);
  await redis.lpush("key", ...list, (error: unknown, length?: number) => {});
  const popped = await redis.blpop("a", "b", 0);
  same<typeof popped, [key: string, element: string] | null>();
  await redis.blpop(["a", "b"], "0.5");
  // @ts-expect-error the time-out is missing its number
  redis.blpop("a", null);
  const one = await redis.lpop("key");
  same<typeof one, string | null>();
  const some = await redis.lpop("key", 2);
  same<typeof some, string[] | null>();
  const place = await redis.lpos("key", "element");
  same<typeof place, number | null>();
  const places = await redis.lpos("key", "element", "COUNT", 2);
  same<typeof places, number[]>();
  await redis.lmove("a", "b", "LEFT", "RIGHT");
  // @ts-expect-error no such side
  redis.lmove("a", "b", "LEFT", "UP");
}

export async function hashes() {
  await redis.hset("key", { a: 1, b: "2", c: buffer });
  await redis.hset("key", new Map<RedisValue, RedisValue>([["a", 1]]));
  await redis.hset("key", "a", 1, "b", 2);
  await redis.hset("key", "a", 1, (error, count) => same<typeof count, number | undefined>());
  await redis.mset({ a: 1 });
  await redis.mset(new Map([["a", "1"]]));
  await redis.mset("a", 1, "b", 2);
  const all = await redis.hgetall("key");
  same<typeof all, Record<string, string>>();
  const bytes = await resp3.hgetallBuffer("key");
  same<typeof bytes, Record<string, Buffer>>();
  const [cursor, fields] = await redis.hscan("key", 0, "MATCH", "a*", "COUNT", 10, "NOVALUES");
  same<typeof cursor, string>();
  same<typeof fields, string[]>();
  await redis.hexpire("key", 10, "NX", "FIELDS", 1, "field");
  // @ts-expect-error the field is missing
  redis.hget("key");
}

export async function sortedSets() {
  await redis.zadd("key", 1, "a", 2, "b");
  await redis.zadd("key", "NX", "CH", 1, "a");
  const added = await redis.zadd("key", "XX", "INCR", 1, "a");
  same<typeof added, string | null>();
  const score = await redis.zscore("key", "a");
  same<typeof score, string | null>();
  const real = await resp3.zscore("key", "a");
  same<typeof real, number | null>();
  const flat = await redis.zrange("key", 0, -1, "WITHSCORES");
  same<typeof flat, string[]>();
  const pairs = await resp3.zrange("key", 0, -1, "WITHSCORES");
  same<typeof pairs, [member: string, score: number][]>();
  const bytes = await resp3.zrangeBuffer("key", "-inf", "+inf", "BYSCORE", "LIMIT", 0, 10, "WITHSCORES");
  same<typeof bytes, [member: Buffer, score: number][]>();
  const members = await resp3.zrange("key", "(1", 5, "BYSCORE", "REV", "LIMIT", 0, 10);
  same<typeof members, string[]>();
  // @ts-expect-error LIMIT takes two numbers
  redis.zrange("key", 0, -1, "LIMIT", 0);
  const popped = await resp3.zpopmin("key");
  same<typeof popped, [member: string, score: number] | []>();
  const rank = await resp3.zrank("key", "a", "WITHSCORE");
  same<typeof rank, [rank: number, score: number] | null>();
  const union = await resp3.zunion(2, "a", "b", "WEIGHTS", 1, 2, "AGGREGATE", "MAX", "WITHSCORES");
  same<typeof union, [member: string, score: number][]>();
  const places = await resp3.geopos("key", "a");
  same<typeof places, ([longitude: number, latitude: number] | null)[]>();
  const distance = await resp3.geodist("key", "a", "b", "KM");
  same<typeof distance, string | null>();
}

export async function streams() {
  const id = await redis.xadd("key", "MAXLEN", "~", 1000, "*", "field", "value");
  same<typeof id, string | null>();
  const entries = await redis.xrange("key", "-", "+", "COUNT", 10);
  same<typeof entries, [id: string, fields: string[]][]>();
  const read = await redis.xread("COUNT", 10, "BLOCK", 0, "STREAMS", "a", "b", "$", "$");
  same<typeof read, [key: string, items: [id: string, fields: string[]][]][] | null>();
  const mapped = await resp3.xread("STREAMS", "a", "0");
  same<typeof mapped, Record<string, [id: string, fields: string[]][]> | null>();
  await redis.xgroup("CREATE", "key", "group", "$", "MKSTREAM");
  // @ts-expect-error no such subcommand
  redis.xgroup("INVENT", "key", "group");
}

export async function containers() {
  const flat = await redis.config("GET", "maxmemory");
  same<typeof flat, string[]>();
  const record = await resp3.config("GET", "maxmemory", "save");
  same<typeof record, Record<string, string>>();
  same<Awaited<ReturnType<typeof hello>>, unknown[]>();
  const id = await redis.client("ID");
  same<typeof id, number>();
  // @ts-expect-error subcommands are upper case
  redis.config("get", "maxmemory");
  const vector = await resp3.vadd("key", "VALUES", 2, 1, 2, "a");
  same<typeof vector, boolean>();
  const legacyVector = await redis.vadd("key", "VALUES", 2, 1, 2, "a");
  await redis.vadd("key", "FP32", new Float32Array([1, 2]), "a", "NOQUANT");
  const nearest = await redis.vsim("key", "FP32", new Float32Array([1, 2]), "WITHSCORES");
  same<typeof nearest, string[]>();
  same<typeof legacyVector, number>();
  const similar = await resp3.vsim("key", "ELE", "a", "WITHSCORES");
  same<typeof similar, Record<string, number>>();
  const names = await resp3.vsim("key", "ELE", "a");
  same<typeof names, string[]>();
  const stats = await resp3.memory("STATS");
  same<typeof stats, Record<string, unknown>>();
}

export function hello() {
  return redis.hello(3, "AUTH", "user", "password", "SETNAME", "name");
}

export async function anyCommand() {
  const reply = await redis.call("NO.SUCH", "key", 1, buffer);
  same<typeof reply, unknown>();
  await redis.call("JSON.GET", ["key", 1]);
  await redis.callBuffer("JSON.GET", "key", (error, value) => same<typeof value, unknown>());
  // @ts-expect-error the whole command as one array is not typed
  redis.call(["get", "key"]);
  const script = await redis.eval("return 1", 1, "key", "argument");
  same<typeof script, unknown>();
  await redis["restore-asking"]("key", 0, buffer, "REPLACE");
  // @ts-expect-error names are lower case
  redis.GET("key");
}

export async function subscriptions() {
  const count = await redis.subscribe("a", "b");
  same<typeof count, number>();
  await redis.psubscribe(["a*"], (error, total) => same<typeof total, number | undefined>());
  await redis.unsubscribe();
}

export function wrapped(key: RedisKey, callback: Callback<string | null>): Promise<string | null> {
  return redis.get(key, callback);
}
