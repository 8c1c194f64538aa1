/**
 * The table `bit` of scripts: operations on 32 bits, with signed results.
 */

import type { LuaValue } from "./lua-values";

type Operation = (numbers: readonly number[]) => number | string;

function rotate(value: number, places: number): number {
  const by = places & 31;
  return by === 0 ? value : (value << by) | (value >>> (32 - by));
}

function hex(value: number, digits = 8): string {
  const text = (value >>> 0)
    .toString(16)
    .padStart(8, "0")
    .slice(-Math.min(8, Math.abs(digits)));
  return digits < 0 ? text.toUpperCase() : text;
}

function swap(value: number): number {
  return (value << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24);
}

const OPERATIONS: Readonly<Record<string, Operation>> = {
  tobit: ([a = 0]) => a,
  bnot: ([a = 0]) => ~a,
  band: (all) => all.reduce((a, b) => a & b),
  bor: (all) => all.reduce((a, b) => a | b),
  bxor: (all) => all.reduce((a, b) => a ^ b),
  lshift: ([a = 0, by = 0]) => a << (by & 31),
  rshift: ([a = 0, by = 0]) => (a >>> (by & 31)) | 0,
  arshift: ([a = 0, by = 0]) => a >> (by & 31),
  rol: ([a = 0, by = 0]) => rotate(a, by),
  ror: ([a = 0, by = 0]) => rotate(a, -by),
  bswap: ([a = 0]) => swap(a),
  tohex: ([a = 0, digits]) => hex(a, digits),
};

export const BIT_OPERATIONS: readonly string[] = Object.keys(OPERATIONS);

/** A number of any size, rounded and cut to 32 bits. */
function toBits(value: LuaValue): number {
  return Number(BigInt.asIntN(32, BigInt(Math.round(Number(value)))));
}

export function bitOperation(name: string, args: readonly LuaValue[]): LuaValue {
  const result = OPERATIONS[name]?.(args.map(toBits)) ?? 0;
  return typeof result === "number" ? result | 0 : result;
}
