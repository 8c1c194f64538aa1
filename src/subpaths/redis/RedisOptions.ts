/** The sub-path `built/redis/RedisOptions`. */

import { defaultOptions, type RedisOptions } from "../../client/options/redis-options";

export type { ReconnectOnError, RetryStrategy } from "../../client/options/common-options";
export type { CommonRedisOptions, RedisOptions } from "../../client/options/redis-options";

export const DEFAULT_REDIS_OPTIONS = defaultOptions as RedisOptions;
