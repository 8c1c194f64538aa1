/** Checks the arguments and settings of one call: an ignored setting would change what the call does. */

import { OptionError } from "../errors";

/** Returns null, or for an invalid value a description of the valid ones. */
export type Check = (value: unknown) => string | null;

export type SettingChecks<Settings> = {
  readonly [name in keyof Settings]-?: Check;
};

/** Throws an `OptionError` for an unknown name or an invalid value. Undefined values count as absent. */
export function checkSettings<Settings extends object>(
  call: string,
  given: Settings,
  checks: SettingChecks<Settings>,
  noun = "option",
): void {
  const known = Object.keys(checks).join(", ");
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new OptionError(`Invalid ${noun}s ${shown(given)} of ${call}: expected an object with ${known}`);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const check = checks[name as keyof Settings];
    if (check === undefined)
      throw new OptionError(`Unknown ${noun} "${name}" of ${call}: expected one of ${known}`);
    checkArgument(call, name, value, check);
  }
}

export function checkArgument(call: string, name: string, value: unknown, check: Check): void {
  const expected = check(value);
  if (expected !== null)
    throw new OptionError(`Invalid ${name} ${shown(value)} of ${call}: expected ${expected}`);
}

/** `String()` throws for some objects. */
function shown(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "[list]" : "[object]";
  return typeof value === "function" ? "[function]" : `"${String(value)}"`;
}

export function functionOnly(value: unknown): string | null {
  return typeof value === "function" ? null : "a function";
}

export function keyOnly(value: unknown): string | null {
  return typeof value === "string" || Buffer.isBuffer(value) ? null : "a string or a Buffer";
}

export function booleanOnly(value: unknown): string | null {
  return typeof value === "boolean" ? null : "a boolean";
}

export function signalOnly(value: unknown): string | null {
  return typeof (value as AbortSignal | null)?.addEventListener === "function" ? null : "an AbortSignal";
}

/** Accepts 0 or more milliseconds. */
export function durationOnly(value: unknown): string | null {
  return typeof value === "number" && value >= 0 ? null : "0 or more milliseconds";
}

export function oneOf(...words: readonly string[]): Check {
  return (value) => (words.includes(value as string) ? null : words.map((word) => `"${word}"`).join(" or "));
}

export function wholeFrom(least: number): Check {
  return (value) =>
    Number.isSafeInteger(value) && (value as number) >= least ? null : `an integer of at least ${least}`;
}
