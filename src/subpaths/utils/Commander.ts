/** The sub-path `built/utils/Commander`: types only. */

import type { RedisCommander } from "../../command/generated/signatures";

/** What clients and pipelines have in common. */
export type Commander = RedisCommander;
export type { RedisCommander as default } from "../../command/generated/signatures";

export interface CommanderOptions {
  keyPrefix?: string;
}
