/** Decides from the command table alone whether a replica may serve a command. */

import type { Command } from "./command";
import type { CommandSpec } from "./command-spec";
import { isRead } from "./command-table";

const CURSORS: ReadonlySet<string> = new Set(["scan", "sscan", "hscan", "zscan"]);

/** Its cursor is valid only at the server that has returned it. */
export function hasCursor({ lowerName }: CommandSpec): boolean {
  return CURSORS.has(lowerName);
}

/** Reads that replicas may serve: by the command table, and only if spelled in lower case. */
export function isReplicaRead(command: Command): boolean {
  const script = command.extra?.script;
  if (script !== null && script !== undefined) return script.isReadOnly;
  const { spec } = command;
  return isRead(command) && spec.name === spec.lowerName;
}
