/**
 * Whether a command may be sent once more behind others: a read unless one of them may change its keys, a write
 * unless one of them uses its keys.
 */

import type { Command } from "../command/command";
import { Effect, effectOf } from "../command/effects";
import { keyNames } from "./duplicate-reads";

export function isOvertaken(member: Command, isWrite: boolean, behind: readonly Command[]): boolean {
  const keys = new Set(keyNames(member));
  return behind.some((other) => {
    const effect = effectOf(other.spec, other.args);
    // Scripts, transactions and changes of the session may concern any key.
    if (effect > Effect.Keys) return true;
    return (isWrite || effect === Effect.Keys) && keyNames(other).some((key) => keys.has(key));
  });
}
