/** Methods of users, declared once, are typed on clients and all pipelines and keep rows known. */

import type Redis from "sluice";
import type { Callback, ChainableCommander, Cluster, Result } from "sluice";
import { type Row, same } from "./same";

declare module "sluice" {
  interface RedisCommander<Context> {
    myEcho(key: string, argument: string, callback?: Callback<string>): Result<string, Context>;
    myCount(key: string): Result<number, Context>;
  }
}

declare const redis: Redis;
declare const resp3: Redis<"resp3">;
declare const either: Redis | Cluster;

export async function customCommands() {
  redis.defineCommand("myEcho", { lua: "return ARGV[1]", numberOfKeys: 1 });
  const echoed = await redis.myEcho("key", "argument");
  same<typeof echoed, string>();
  const other = await resp3.myEcho("key", "argument", (error, text) =>
    same<typeof text, string | undefined>(),
  );
  same<typeof other, string>();
  // @ts-expect-error the argument is missing
  redis.myEcho("key");

  const rows = await redis.pipeline().myEcho("key", "a").get("b").myCount("c").exec();
  same<typeof rows, [Row<string>, Row<string | null>, Row<number>] | null>();
  const transaction = await resp3.multi().myCount("c").zscore("z", "m").exec();
  same<typeof transaction, [Row<number>, Row<number | null>] | null>();
  let pipeline = redis.pipeline();
  pipeline = pipeline.myCount("key");
  let declared: ChainableCommander = redis.pipeline();
  declared = declared.myEcho("key", "a").get("b");
  return [pipeline, declared];
}

/** With methods of users, the compiler joins the overloads of the two classes one by one. */
export async function eitherClient() {
  const plain = await either.set("key", 1);
  same<typeof plain, "OK">();
  const lock = await either.set("key", "a", "PX", 5, "NX");
  same<typeof lock, "OK" | null>();
  const before = await either.set("key", "a", "GET");
  same<typeof before, string | null>();
  const added = await either.zadd("key", 1, "a", 2, "b");
  same<typeof added, number>();
  const [cursor, keys] = await either.scan(0, "MATCH", "a*", "COUNT", 10);
  same<typeof keys, string[]>();
  await either.zrange("key", 0, -1, "REV");
  await either.xread("COUNT", 1, "STREAMS", "key", "0");
  await either.xreadgroup("GROUP", "g", "c", "COUNT", 1, "STREAMS", "key", ">");
  await either.hscan("key", cursor, "COUNT", 10);
  await either.sort("key", "ALPHA");
  await either.getex("key", "EX", 5);
  await either.eval("return 1", 1, "key");
  await either.set("key", "a", "EX", 5, (error, reply) => same<typeof reply, "OK" | undefined>());
  return [either.myEcho("key", "a"), either.multi().set("key", 1).zadd("key", 1, "a")];
}
