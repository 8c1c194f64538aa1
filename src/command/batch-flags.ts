/** What is special about any of several commands. */

import type { Command } from "./command";

/** All flags that any of the commands has; a whole batch knows them already. */
export function flagsOf(commands: readonly Command[]): number {
  const batch = commands[0]?.batch;
  if (batch !== null && batch !== undefined && batch.size === commands.length) return batch.flags;
  let flags = 0;
  for (const command of commands) flags |= command.spec.flags;
  return flags;
}
