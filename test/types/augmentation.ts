/** Methods of users, declared once, are typed on clients and all pipelines and keep rows known. */

import type Redis from "sluice";
import type { Callback, ChainableCommander, Result } from "sluice";
import { type Row, same } from "./same";

declare module "sluice" {
  interface RedisCommander<Context> {
    myEcho(key: string, argument: string, callback?: Callback<string>): Result<string, Context>;
    myCount(key: string): Result<number, Context>;
  }
}

declare const redis: Redis;
declare const resp3: Redis<"resp3">;

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
