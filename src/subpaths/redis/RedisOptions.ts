/** The sub-path `built/redis/RedisOptions`. */

import { defaultOptions, type RedisOptions } from "../../client/redis-options";

export type { ReconnectOnError, RetryStrategy } from "../../client/common-options";
export type { CommonRedisOptions, RedisOptions } from "../../client/redis-options";

export const DEFAULT_REDIS_OPTIONS = defaultOptions as RedisOptions;
