/** The sub-path `built/redis/RedisOptions`. */

export type { ReconnectOnError, RetryStrategy } from "../../client/common-options";
export {
  type CommonRedisOptions,
  defaultOptions as DEFAULT_REDIS_OPTIONS,
  type RedisOptions,
} from "../../client/redis-options";
