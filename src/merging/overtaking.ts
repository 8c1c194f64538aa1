/**
 * Whether a command may be sent once more behind others: a read unless one of them may change its keys, a write
 * unless one of them uses its keys.
 */

import type { Command } from "../command/command";
import type { Argument } from "../command/command-spec";
import { Effect, effectOf } from "../command/effects";
import { keyPositions } from "../command/key-positions";
import { isSame } from "./runs";

export function isOvertaken(member: Command, isWrite: boolean, behind: readonly Command[]): boolean {
  const keys = keysOf(member);
  return behind.some((other) => stands(other, keys, isWrite));
}

/** True if a command with these keys must not be sent behind the other one. */
function stands(other: Command, keys: readonly Argument[], isWrite: boolean): boolean {
  const effect = effectOf(other.spec, other.args);
  const isShared = (): boolean => keysOf(other).some((key) => keys.some((one) => isSame(one, key)));
  if (effect === Effect.None || effect === Effect.Cacheable) return isWrite && isShared();
  return effect === Effect.Keys ? isShared() : true;
}

function keysOf({ spec, args }: Command): Argument[] {
  return keyPositions(spec, args).map((position) => args[position] as Argument);
}
