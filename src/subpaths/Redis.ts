/** The sub-path `built/Redis`. */

export { Redis, Redis as default } from "../client/redis";
export type { RedisStatus } from "../client/types";
