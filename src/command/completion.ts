/**
 * Whoever must be told how a command ended. A single command has a promise, a pipeline is
 * itself the completion of all its commands (`command.index` tells which row).
 * Called exactly once for each command; implementations must not throw.
 */

import type { Reply } from "../protocol/resp-types";
import type { Command } from "./command";

export interface Completion {
  fulfil(command: Command, value: Reply): void;
  reject(command: Command, error: Error): void;
}
