/** Reads the options of `addBuiltinCommand`. */

import type { KeyPlaces } from "../../command/command-table";
import { OptionError } from "../../errors";

export interface BuiltinCommandOptions {
  /**
   * Positions of the keys, as in COMMAND INFO: 1 is the first argument; a negative `last` counts from the end.
   * `last` defaults to `first`, `step` to 1; `first: 0` means no keys.
   */
  keys?: { first: number; last?: number | undefined; step?: number | undefined } | undefined;
}

export function checkKeyPlaces({
  first,
  last = first,
  step = 1,
}: NonNullable<BuiltinCommandOptions["keys"]>): KeyPlaces {
  const isRange = Number.isInteger(last) && (last < 0 || last >= first);
  if (Number.isInteger(first) && first >= 0 && isRange && Number.isInteger(step) && step >= 1) {
    return { first, last, step };
  }
  throw new OptionError(
    "addBuiltinCommand() takes keys as { first, last, step }: whole numbers, first from 0, last not before first or negative, step from 1",
  );
}
