/**
 * Rejects arguments that would be sent as an unintended text (`""`, `[object Object]`, `NaN`), for clients with
 * `strictArguments`. Positions are those that the caller sees, elements of arrays counted one by one.
 */

import { ArgumentError } from "../errors";
import { isThenable } from "../util/user-code";
import { flattenOnce } from "./argument-mappers";
import type { CommandSpec } from "./command-spec";

/** Throws an `ArgumentError` at the first argument without a text form. */
export function refuseLooseArguments(spec: CommandSpec, args: unknown[]): void {
  const flat = flattenOnce(args, spec.name);
  // HSET and similar commands take objects, so their transformed arguments are checked.
  const values = spec.argumentMapper === null ? flat : spec.argumentMapper([...flat]);
  if (!Array.isArray(values)) return;
  values.forEach((value: unknown, index) => {
    const reason = objection(value);
    if (reason !== null) throw new ArgumentError(spec.name, index + 1, `${reason} (strictArguments)`);
  });
}

function objection(value: unknown): string | null {
  if (value === undefined || value === null) return `it is ${value}`;
  if (typeof value === "number") return Number.isNaN(value) ? "it is NaN" : null;
  if (typeof value === "function" || typeof value === "symbol") return `it is a ${typeof value}`;
  if (typeof value !== "object") return null;
  if (Array.isArray(value))
    return "it is an array inside another value; pass a flat list, or JSON.stringify() it";
  if (isThenable(value)) return "it is a promise; await it";
  const { prototype } = Object;
  const own = Object.getPrototypeOf(value) as unknown;
  return own === prototype || own === null
    ? "it is a plain object; pass its fields, or JSON.stringify() it"
    : null;
}
