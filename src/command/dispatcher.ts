/** The spine: every module that accepts commands, from the auto-pipeliner down to a connection. */

import type { Command } from "./command";

/** Accepts commands. Returns nothing and never throws: the outcome travels with the command. */
export interface Dispatcher {
  dispatch(command: Command): void;
  /** The commands leave contiguously and in this order wherever they go to the same node. */
  dispatchBatch(commands: readonly Command[]): void;
}
