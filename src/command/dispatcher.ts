/**
 * The central interface: every module that accepts commands implements it, from the auto-pipeliner down to a
 * connection.
 */

import type { Command } from "./command";

/** Accepts commands. Returns nothing and never throws: the command carries its outcome. */
export interface Dispatcher {
  dispatch(command: Command): void;
  /** Commands for the same node are sent contiguously and in this order. */
  dispatchBatch(commands: readonly Command[]): void;
}
