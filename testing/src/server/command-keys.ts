/**
 * The keys of a request.
 */

import { Flag } from "./flags";
import type { CommandEntry } from "./model";

export function keysOf(entry: CommandEntry, args: readonly string[]): readonly string[] {
  if (entry.keys[0] !== 0 && (entry.flags & Flag.MovableKeys) === 0) return simpleKeys(entry, args);
  if ((entry.flags & Flag.MovableKeys) === 0 && !entry.name.includes("|")) return [];
  return loadMovableKeys().movableKeys(entry.name.split("|", 1)[0] ?? "", args);
}

export function loadMovableKeys(): typeof import("./movable-keys") {
  return require("./movable-keys") as typeof import("./movable-keys");
}

/** The words that are keys, by the entry's simple rule. */
function simpleKeys({ keys: [first, last, step] }: CommandEntry, args: readonly string[]): string[] {
  if (first === 0) return [];
  const end = last < 0 ? args.length + last : last;
  const found: string[] = [];
  for (let at = first; at <= end && at < args.length; at += step) found.push(args[at] as string);
  return found;
}
