/**
 * Kinds of options. They reject values that would hang the client, exhaust its memory, or have no effect. Options of
 * ioredis accept the values that ioredis accepts.
 */

import { OptionError } from "../../errors";
import { MASK } from "../../util/credentials";
import { warnOnce } from "./option-warnings";

export interface Kind {
  /** Throws an `OptionError` for an invalid value. Never called with null or undefined. */
  readonly check: (name: string, value: unknown) => void;
  /** Converts the text of an item in the query of a URL. Throws an `OptionError` for invalid text. */
  readonly parse: (name: string, text: string) => unknown;
}

const asText = (_name: string, text: string): unknown => text;
const nullOrText = (_name: string, text: string): unknown => (text === "null" ? null : text);

function parseNumber(name: string, text: string): unknown {
  if (text === "null") return null;
  const number = Number(text);
  if (text.trim() !== "" && !Number.isNaN(number)) return number;
  throw new OptionError(`Invalid ${name} "${text}" in the URL: expected a number`);
}

function switchOf(text: string): boolean | undefined {
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : undefined;
}

function parseSwitch(name: string, text: string): unknown {
  const value = switchOf(text);
  if (value === undefined)
    throw new OptionError(`Invalid ${name} "${text}" in the URL: expected true or false`);
  return value;
}

export const ANY: Kind = { check() {}, parse: asText };
export const LIST = kind(Array.isArray, "expected a list", asText);
/** A boolean. Text such as "false" counts as true, as in ioredis, and produces a warning. */
export const SWITCH: Kind = {
  check(name, value) {
    if (typeof value !== "string" || value === "" || switchOf(value) === true) return;
    warnOnce("SLUICE_INVALID_OPTION", name, "is a string, which counts as true; pass true or false");
  },
  parse: parseSwitch,
};
/** A number. Other types are accepted, as in ioredis; text that is not a number produces a warning. */
export const NUMERIC: Kind = {
  check(name, value) {
    if (typeof value !== "string" || !Number.isNaN(Number(value))) return;
    warnOnce("SLUICE_INVALID_OPTION", name, `is ${show(value)}, which is not a number`);
  },
  parse: parseNumber,
};
/** A time limit. As in ioredis, NaN and other falsy values disable it. */
export const LIMIT = kind(
  (value) => !value || (typeof value === "number" && value >= 0),
  "expected a number of at least 0",
  parseNumber,
);
/** A number. Text and NaN are rejected, because they would have no effect. */
export const NUMBER = kind(
  (value) => typeof value === "number" && !Number.isNaN(value),
  "expected a number",
  parseNumber,
);
/** A function. `false` disables some of them. The error masks text, which may be a password. */
export const FUNCTION: Kind = {
  check(name, value) {
    if (typeof value === "function" || value === false) return;
    const shown = typeof value === "string" ? MASK : String(value);
    throw new OptionError(`Invalid option ${name} ${shown}: expected a function`);
  },
  parse: nullOrText,
};

/** A number with a lower bound, or one of the other values. A limit may be `Infinity`. */
export function atLeast(least: number, ...others: readonly unknown[]): Kind {
  const alternatives = others.map((one) => `${show(one)} or `).join("");
  return kind(
    (value) => (typeof value === "number" && value >= least) || others.includes(value),
    `expected ${alternatives}a number of at least ${least}`,
    parseNumber,
  );
}

export function oneOf(...values: readonly unknown[]): Kind {
  return kind(
    (value) => values.includes(value),
    `expected one of ${values.map(show).join(", ")}`,
    (_name, text) => values.find((value) => String(value) === text) ?? switchOf(text) ?? text,
  );
}

/** An object of settings, or one of the other values. An unknown setting would leave the intended one at its default. */
export function settings(
  kinds: Readonly<Record<string, Kind>>,
  others: readonly unknown[] = [],
  checkTogether: Kind["check"] = () => {},
): Kind {
  const names = Object.keys(kinds).join(", ");
  return {
    check(name, value) {
      if (others.includes(value)) return;
      if (typeof value !== "object" || Array.isArray(value)) {
        reject(name, value, `expected ${[...others.map(show), `an object with ${names}`].join(" or ")}`);
      }
      for (const [setting, one] of Object.entries(value as object)) {
        const kind = kinds[setting];
        const path = `${name}.${setting}`;
        if (kind === undefined) throw new OptionError(`Invalid option ${path}: expected one of ${names}`);
        if (one !== undefined && one !== null) kind.check(path, one);
      }
      checkTogether(name, value);
    },
    parse: oneOf(...others).parse,
  };
}

function kind(isValid: (value: unknown) => boolean, expected: string, parse: Kind["parse"]): Kind {
  return {
    check(name, value) {
      if (!isValid(value)) reject(name, value, expected);
    },
    parse,
  };
}

function reject(name: string, value: unknown, expected: string): never {
  throw new OptionError(`Invalid option ${name} ${show(value)}: ${expected}`);
}

function show(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : String(value);
}
