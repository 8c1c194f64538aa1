/** The options `coalesce` and `merge`. */

import type { BatchMerging } from "../command/batch";
import { OptionError } from "../errors";
import { LatePart } from "../util/late-part";

const MERGEABLE = ["get", "hget", "hmset", "lpush", "rpush", "set", "sismember", "zscore"] as const;
const EXACT: readonly MergeableCommand[] = ["hget", "sismember", "zscore"];

/** Commands that can be merged. `get`, `set`, `hmset` and the pushes are merged only if they are named. */
export type MergeableCommand = (typeof MERGEABLE)[number];

/** `true` selects `hget`, `sismember` and `zscore`, whose replies are exact for any content of the keys. */
export type MergeChoice = boolean | readonly MergeableCommand[];

export const mergers = new LatePart(
  "merging",
  () => require("../merging/merger") as typeof import("../merging/merger"),
);

export function mergingOf(merge: MergeChoice | undefined, coalesces: boolean): BatchMerging | null {
  const merged = merge === true ? EXACT : [...(merge || [])];
  if (merged.length === 0 && !coalesces) return null;
  // Commands are merged later, when an error would reach no caller.
  mergers.get();
  return { merged, coalesces };
}

/** Throws an `OptionError` unless the value is a boolean or a list of commands that can be merged. */
export function checkMerge(option: string, merge: unknown): void {
  if (merge === undefined || merge === null || typeof merge === "boolean") return;
  const names: readonly unknown[] | null = Array.isArray(merge) ? merge : null;
  if (names?.every(isMergeable)) return;
  const wrong = names === null ? merge : names.find((name) => !isMergeable(name));
  const shown = typeof wrong === "string" ? `"${wrong}"` : String(wrong);
  const known = `"${MERGEABLE.join('", "')}"`;
  throw new OptionError(`Invalid option ${option} ${shown}: expected true, false or a list of ${known}`);
}

function isMergeable(name: unknown): boolean {
  return MERGEABLE.includes(name as MergeableCommand);
}
