/**
 * Whoever must be told how a command ended. A single command has a promise, a pipeline is
 * itself the completion of all its commands (`command.index` tells which row).
 * Called exactly once for each command; implementations must not throw.
 */

import type { Reply } from "../protocol/resp-types";
import type { Command } from "./command";
import type { ReplyShape } from "./command-spec";

export interface Completion {
  /** The promise handed to the caller, if there is one for the single command. */
  readonly promise: Promise<unknown> | null;
  fulfil(command: Command, value: Reply, shape: ReplyShape): void;
  reject(command: Command, error: Error): void;
}
