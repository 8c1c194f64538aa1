/**
 * Who goes on with the commands of a link that ends: a cluster sends them to another node. Each
 * command that comes too late is either ended here or handed to the heir, never both.
 */

import type { Command } from "../command/command";
import { ConnectionClosedError } from "../errors";
import { refuse } from "./resend";

/** Whoever sends commands elsewhere that outlive their link. */
export interface Heir {
  adopts(command: Command): boolean;
  onOrphans(commands: readonly Command[], error: Error): void;
}

/**
 * Refuses commands; those that come too late for a closing link go on with its heir if it wants
 * them. All at once: handed over one by one, each member of a transaction would send all of it again.
 */
export function refuseOrBequeath(commands: readonly Command[], makeError: () => Error, heir: Heir): void {
  const orphans: Command[] = [];
  for (const command of commands) {
    const error = makeError();
    if (error instanceof ConnectionClosedError && heir.adopts(command)) orphans.push(command);
    else refuse(command, error);
  }
  if (orphans.length > 0) heir.onOrphans(orphans, makeError());
}
