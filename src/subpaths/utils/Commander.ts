/** The sub-path `built/utils/Commander`: types only. */

import type { RedisCommander } from "../../command/generated/signatures";

/** The common part of clients and pipelines. */
export type Commander = RedisCommander;
export type { RedisCommander as default } from "../../command/generated/signatures";

export interface CommanderOptions {
  keyPrefix?: string;
}
