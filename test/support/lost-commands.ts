/** What a link keeps of the commands that a ready connection has left, by its rules. */

import type { Command } from "../../src/command/command";
import type { RetryPolicy } from "../../src/command/command-extra";
import type { Left } from "../../src/connection/command-queue";
import type { Connection } from "../../src/connection/connection";
import { ConnectionCounts } from "../../src/connection/connection-counts";
import { DeadConnectionError } from "../../src/errors";
import { LeftoverCommands } from "../../src/link/leftovers";
import { OfflineQueue } from "../../src/link/offline-queue";

export interface LossRules {
  readonly retryPolicy?: RetryPolicy;
  /** Only the network failed. */
  readonly mayStillRun?: boolean;
  readonly protocolError?: Error | null;
}

/** The commands to send again, in order; the others have failed. */
export function keptAfterLoss(
  left: Left,
  { retryPolicy, mayStillRun = false, protocolError = null }: LossRules = {},
): readonly Command[] {
  const waiting = new OfflineQueue();
  const deps = { takeover: null, counts: new ConnectionCounts() };
  const leftovers = new LeftoverCommands({ retryPolicy, host: "server", port: 1 }, waiting, deps);
  if (mayStillRun) leftovers.cause = new DeadConnectionError("server:1", 1000, false);
  leftovers.keep(left, { protocolError, readyAtMs: 1 } as Connection);
  return waiting.takeAll();
}
