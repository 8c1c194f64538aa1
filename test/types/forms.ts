/** `with({ replies })`: the types of replies follow the forms, on clients, pipelines and transactions. */

import type Redis from "sluice";
import type { Cluster } from "sluice";
import { type Row, same } from "./same";

declare const redis: Redis;
declare const resp3: Redis<"resp3">;
declare const cluster: Cluster;

export async function calls() {
  const view = redis.with({ replies: { bulk: "buffer", map: "map", number: "bigint" } });
  const map = await view.hgetall("h");
  same<typeof map, Map<string, Buffer>>();
  const text = await view.get("k");
  same<typeof text, Buffer | null>();
  const count = await view.incr("n");
  same<typeof count, bigint>();
  const list = await view.mget("a", "b");
  same<typeof list, (Buffer | null)[]>();
  const scanned = await view.hscan("h", 0);
  same<typeof scanned, [cursor: Buffer, elements: Buffer[]]>();
  const streams = await view.xread("STREAMS", "s", "0");
  same<typeof streams, Map<string, [id: Buffer, fields: Buffer[]][]> | null>();
  const score = await view.zscore("z", "a");
  same<typeof score, Buffer | null>();
  const status = await view.mset("a", 1);
  same<typeof status, Buffer>();
  const anything = await view.call("WHATEVER");
  same<typeof anything, unknown>();
  view.incr("n", (_error, reply) => same<typeof reply, bigint | undefined>());
  // @ts-expect-error no method of commands
  view.disconnect();
}

export async function separately() {
  const numbers = redis.with({ timeout: 5, replies: { number: "bigint" } });
  same<Awaited<ReturnType<typeof numbers.hgetall>>, Record<string, string>>();
  const positions = await numbers.lpos("l", "a", "COUNT", 0);
  same<typeof positions, bigint[]>();
  const limited = numbers.with({ timeout: 5 });
  same<typeof limited, typeof numbers>();
  const others = await numbers.with({ replies: { number: "string" } }).incr("n");
  same<typeof others, string>();
  const objects = await redis.with({ replies: { map: "object" } }).xread("STREAMS", "s", "0");
  same<typeof objects, Record<string, [id: string, fields: string[]][]> | null>();
  const scores = await redis.with({ replies: { map: "map" } }).vsim("v", "ELE", "a", "WITHSCORES");
  same<typeof scores, Map<string, string>>();
  const own = await cluster.with({ replies: { map: "map" } }).hgetall("h");
  same<typeof own, Map<string, string>>();
  // @ts-expect-error no such form
  redis.with({ replies: { number: "int" } });
  // @ts-expect-error no such type
  redis.with({ replies: { set: "array" } });
}

export async function shapesOfResp3() {
  const view = resp3.with({ replies: { map: "map", number: "bigint" } });
  const scores = await view.vsim("v", "ELE", "a", "WITHSCORES");
  same<typeof scores, Map<string, number | bigint>>();
  const count = await view.incr("n");
  same<typeof count, number | bigint>();
}

export async function batches() {
  const view = redis.with({ replies: { map: "map", number: "bigint" } });
  const rows = await view.pipeline().incr("n").hgetall("h").get("k").exec();
  same<typeof rows, [Row<bigint>, Row<Map<string, string>>, Row<string | null>] | null>();
  const transaction = await view.multi().incr("n").exec();
  same<typeof transaction, [Row<bigint>] | null>();
  let pipeline = view.pipeline();
  for (const key of ["a", "b"]) pipeline = pipeline.incr(key);
  await pipeline.exec();
}

export async function families() {
  const view = redis.with({ replies: { bulk: "buffer", number: "bigint" } });
  const parsed = await view.json.get<{ n: number }>("k");
  same<typeof parsed, { n: number } | null>();
  const rows = await view.pipeline().json.get<string>("k").incr("n").exec();
  same<typeof rows, [Row<string | null>, Row<bigint>] | null>();
}
