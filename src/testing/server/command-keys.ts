/**
 * The keys of a request, by the client's own command table: one source for both ends.
 */

import { specOf } from "../../command/command-table";
import { keyPositions } from "../../command/key-positions";
import { simpleKeys } from "./command-table";
import { Flag } from "./flags";
import type { CommandEntry } from "./model";

export function keysOf(entry: CommandEntry, args: readonly string[]): readonly string[] {
  if (entry.keys[0] !== 0 && (entry.flags & Flag.MovableKeys) === 0) return simpleKeys(entry, args);
  if ((entry.flags & Flag.MovableKeys) === 0 && !entry.name.includes("|")) return [];
  const parent = entry.name.split("|", 1)[0] ?? "";
  const rest = args.slice(1);
  return keyPositions(specOf(parent), rest).map((position) => rest[position] as string);
}
