/**
 * The table `struct` of scripts: binary layouts as `>I2s`.
 */

import { LuaProblem, type LuaValue } from "./lua-values";

interface Item {
  readonly kind: string;
  /** Bytes; for `c` characters. */
  readonly size: number;
  readonly isLittle: boolean;
}

const SIZES: Readonly<Record<string, number>> = {
  b: 1,
  B: 1,
  h: 2,
  H: 2,
  l: 8,
  L: 8,
  T: 8,
  f: 4,
  d: 8,
  x: 1,
};
const MAX_INTEGER_BYTES = 32;

function layoutOf(format: LuaValue): Item[] {
  const text = String(format);
  const items: Item[] = [];
  let isLittle = true;
  for (const match of text.matchAll(/([<>=!@ ])\d*|([bBhHlLTfdxsIic])(\d*)/g)) {
    const [, order, kind = "", digits = ""] = match;
    if (order !== undefined) {
      if (order === "<" || order === ">") isLittle = order === "<";
      continue;
    }
    const isSized = kind === "I" || kind === "i" || kind === "c";
    const size = isSized ? (digits === "" ? (kind === "c" ? 1 : 4) : Number(digits)) : (SIZES[kind] ?? 0);
    if (kind !== "c" && size > MAX_INTEGER_BYTES)
      throw new LuaProblem(`integral size ${size} is larger than limit of 32`);
    items.push({ kind, size, isLittle });
  }
  return items;
}

function packInteger(value: number, { size, isLittle }: Item): string {
  let rest = BigInt(Math.trunc(value));
  const chars: string[] = [];
  for (let index = 0; index < size; index++) {
    chars.push(String.fromCharCode(Number(rest & 0xffn)));
    rest >>= 8n;
  }
  return (isLittle ? chars : chars.reverse()).join("");
}

function packDouble(value: number, { size, isLittle }: Item): string {
  const buffer = Buffer.alloc(size);
  if (size === 4) isLittle ? buffer.writeFloatLE(value) : buffer.writeFloatBE(value);
  else isLittle ? buffer.writeDoubleLE(value) : buffer.writeDoubleBE(value);
  return buffer.toString("latin1");
}

function packText(value: string, { kind, size }: Item): string {
  if (kind === "s") return `${value}\0`;
  const length = size === 0 ? value.length : size;
  if (value.length < length) throw new LuaProblem("string too short");
  return value.slice(0, length);
}

export function packStruct([format = "", ...values]: readonly LuaValue[]): string {
  let next = 0;
  return layoutOf(format)
    .map((item) => {
      if (item.kind === "x") return "\0";
      const value = values[next++];
      if (value === undefined || value === null)
        throw new LuaProblem("bad argument to 'pack' (value expected)");
      if (item.kind === "s" || item.kind === "c") return packText(String(value), item);
      return item.kind === "f" || item.kind === "d"
        ? packDouble(Number(value), item)
        : packInteger(Number(value), item);
    })
    .join("");
}

function unpackInteger(bytes: string, { kind, isLittle }: Item): number {
  const chars = isLittle ? [...bytes].reverse() : [...bytes];
  const value = chars.reduce((sum, char) => (sum << 8n) | BigInt(char.charCodeAt(0)), 0n);
  return Number(/[bhli]/.test(kind) ? BigInt.asIntN(bytes.length * 8, value) : value);
}

function unpackDouble(bytes: string, { size, isLittle }: Item): number {
  const buffer = Buffer.from(bytes, "latin1");
  if (size === 4) return isLittle ? buffer.readFloatLE() : buffer.readFloatBE();
  return isLittle ? buffer.readDoubleLE() : buffer.readDoubleBE();
}

/** The values, then the place behind them. */
export function unpackStruct([format = "", data = "", start = 1]: readonly LuaValue[]): LuaValue[] {
  const text = String(data);
  let at = Number(start) - 1;
  const values: LuaValue[] = [];
  for (const item of layoutOf(format)) {
    if (item.kind === "s") {
      const end = text.indexOf("\0", at);
      if (end < 0) throw new LuaProblem("unfinished string in data");
      values.push(text.slice(at, end));
      at = end + 1;
      continue;
    }
    // c0 takes its length from the value in front of it.
    const size = item.kind === "c" && item.size === 0 ? Number(values.pop()) : item.size;
    if (at + size > text.length) throw new LuaProblem("data string too short");
    const bytes = text.slice(at, at + size);
    at += size;
    if (item.kind === "c") values.push(bytes);
    else if (item.kind === "f" || item.kind === "d") values.push(unpackDouble(bytes, item));
    else if (item.kind !== "x") values.push(unpackInteger(bytes, item));
  }
  return [...values, at + 1];
}

export function sizeOfStruct([format = ""]: readonly LuaValue[]): number {
  return layoutOf(format).reduce((sum, { kind, size }) => {
    if (kind === "s" || (kind === "c" && size === 0)) throw new LuaProblem("variable-size format in 'size'");
    return sum + size;
  }, 0);
}
