/** Checks the settings of one call: an ignored setting would change what the call does. */

import { OptionError } from "../errors";

/** For an invalid value, each check returns a description of the valid ones. */
export type SettingChecks<Settings> = {
  readonly [name in keyof Settings]-?: (value: unknown) => string | null;
};

/** Throws an `OptionError` for an unknown name or an invalid value. Undefined values count as absent. */
export function checkSettings<Settings extends object>(
  call: string,
  given: Settings,
  checks: SettingChecks<Settings>,
  noun = "option",
): void {
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const check = checks[name as keyof Settings];
    if (check === undefined) {
      const known = Object.keys(checks).join(", ");
      throw new OptionError(`Unknown ${noun} "${name}" of ${call}: expected one of ${known}`);
    }
    const expected = check(value);
    if (expected !== null)
      throw new OptionError(`Invalid ${name} "${String(value)}" of ${call}: expected ${expected}`);
  }
}

export function booleanOnly(value: unknown): string | null {
  return typeof value === "boolean" ? null : "a boolean";
}

export function signalOnly(value: unknown): string | null {
  return typeof (value as AbortSignal | null)?.addEventListener === "function" ? null : "an AbortSignal";
}

/** In milliseconds. */
export function durationOnly(value: unknown): string | null {
  return typeof value === "number" && value >= 0 ? null : "0 or more milliseconds";
}

export function wholeFrom(least: number): (value: unknown) => string | null {
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= least ? null : `an integer of at least ${least}`;
}
