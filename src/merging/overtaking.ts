/**
 * Whether a command may be sent once more behind others: a read unless one of them may change its keys, a write
 * unless one of them uses its keys.
 */

import type { Command } from "../command/command";
import { Effect, effectOf } from "../command/effects";
import { keyNames } from "./duplicate-reads";

export function isOvertaken(member: Command, isWrite: boolean, behind: readonly Command[]): boolean {
  const keys = new Set(keyNames(member));
  return behind.some((other) => stands(other, keys, isWrite));
}

/** True if a command with these keys must not be sent behind the other one. */
function stands(other: Command, keys: ReadonlySet<string>, isWrite: boolean): boolean {
  const effect = effectOf(other.spec, other.args);
  const isShared = (): boolean => keyNames(other).some((key) => keys.has(key));
  if (effect === Effect.None || effect === Effect.Cacheable) return isWrite && isShared();
  return effect === Effect.Keys ? isShared() : true;
}
