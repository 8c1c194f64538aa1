/** Who goes on with the commands of a link that ends: a cluster sends them to another node. */

import type { Command } from "../command/command";
import { ConnectionClosedError } from "../errors";

/** Whoever sends commands elsewhere that outlive their link. */
export interface Heir {
  adopts(command: Command): boolean;
  onOrphans(commands: readonly Command[], error: Error): void;
}

/** True when a command that comes too late for a closing link goes on with its heir. */
export function bequeath(command: Command, refusal: Error, heir: Heir): boolean {
  if (!(refusal instanceof ConnectionClosedError) || !heir.adopts(command)) return false;
  heir.onOrphans([command], refusal);
  return true;
}
