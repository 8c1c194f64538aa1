/**
 * Whether a command may be sent once more behind others. A read may unless one of them may change its
 * keys; a write may unless one of them has anything to do with its keys.
 */

import type { Command } from "../command";
import type { Argument } from "../command-spec";
import { Effect, effectOf } from "../effects";
import { keyPositions } from "../key-positions";
import { isSame } from "./command-list";

export function isOvertaken(member: Command, isWrite: boolean, behind: readonly Command[]): boolean {
  const keys = keysOf(member);
  return behind.some((other) => stands(other, keys, isWrite));
}

/** True if nothing that names these keys may be sent behind the command in its place. */
function stands(other: Command, keys: readonly Argument[], isWrite: boolean): boolean {
  const effect = effectOf(other.spec, other.args);
  const isShared = (): boolean => keysOf(other).some((key) => keys.some((one) => isSame(one, key)));
  if (effect === Effect.None || effect === Effect.Cacheable) return isWrite && isShared();
  return effect === Effect.Keys ? isShared() : true;
}

function keysOf({ spec, args }: Command): Argument[] {
  return keyPositions(spec, args).map((position) => args[position] as Argument);
}
