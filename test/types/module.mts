/** The same types through the ES module entry, augmentation included. */

import type Redis from "sluice";
import type { ChainableCommander, Redis as Named, Result } from "sluice";
import * as everything from "sluice";

declare module "sluice" {
  interface RedisCommander<Context> {
    fromModule(key: string): Result<number, Context>;
  }
}

declare const redis: Redis;

export async function module() {
  const named: Named = redis;
  const same: Redis = new everything.Redis();
  const byDefault: Redis = new everything.default();
  const count: number = await redis.fromModule("key");
  const rows = await redis.pipeline().fromModule("key").get("a").exec();
  const first: number | undefined = rows?.[0][1];
  const pipeline: ChainableCommander = redis.pipeline().fromModule("key");
  return [named, same, byDefault, count, first, pipeline];
}
