/**
 * The table `cjson` of scripts: JSON over byte strings. An empty table is an object.
 */

import { general } from "../protocol/numbers";
import { LUA_NULL, LuaNull, LuaProblem, LuaTable, type LuaValue } from "./lua-values";

const MAX_DECODE_DEPTH = 1_000;
/** A list with more holes than this is refused. */
const MAX_SPARSE = 10;
const SPARSE_FACTOR = 2;

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "/": "\\/",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\x7f": "\\u007f",
};

function quoted(text: string): string {
  const escaped = text.replace(/["\\/\p{Cc}]/gu, (char) => {
    if (char > "\x7f") return char;
    return ESCAPES[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `"${escaped}"`;
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new LuaProblem("Cannot serialise number: must not be NaN or Inf");
  return general(value, 14);
}

/** How many items the table has as a list, or -1 for an object. */
function listLength(table: LuaTable): number {
  let highest = 0;
  for (const key of table.entries.keys()) {
    if (typeof key !== "number" || key < 1 || !Number.isInteger(key)) return -1;
    highest = Math.max(highest, key);
  }
  if (highest > MAX_SPARSE && highest > table.entries.size * SPARSE_FACTOR) {
    throw new LuaProblem("Cannot serialise table: excessively sparse array");
  }
  return highest === 0 ? -1 : highest;
}

export function encodeJson(value: LuaValue): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return value ? "true" : "false";
  if (typeof value === "number") return numberText(value);
  if (typeof value === "string") return quoted(value);
  if (value instanceof LuaNull) return "null";
  const length = listLength(value);
  if (length >= 0) {
    const items = Array.from({ length }, (_, index) => encodeJson(value.get(index + 1)));
    return `[${items.join(",")}]`;
  }
  const fields = [...value.entries].map(([key, item]) => {
    if (typeof key === "boolean")
      throw new LuaProblem("Cannot serialise table: table key must be a number or string");
    return `${quoted(typeof key === "number" ? numberText(key) : key)}:${encodeJson(item)}`;
  });
  return `{${fields.join(",")}}`;
}

function fromJson(value: unknown, depth: number): LuaValue {
  if (depth > MAX_DECODE_DEPTH) throw new LuaProblem("Found too many nested data structures (1001)");
  if (value === null) return LUA_NULL;
  if (typeof value === "string") return Buffer.from(value, "utf8").toString("latin1");
  if (typeof value !== "object") return value as number | boolean;
  if (Array.isArray(value)) return LuaTable.ofArray(value.map((item) => fromJson(item, depth + 1)));
  const table = new LuaTable();
  for (const [name, item] of Object.entries(value)) {
    table.entries.set(Buffer.from(name, "utf8").toString("latin1"), fromJson(item, depth + 1));
  }
  return table;
}

export function decodeJson(text: LuaValue): LuaValue {
  if (typeof text !== "string" && typeof text !== "number") {
    throw new LuaProblem("bad argument #1 to 'decode' (string expected)");
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(String(text), "latin1").toString("utf8"));
  } catch {
    throw new LuaProblem("Expected value but found invalid token at character 1");
  }
  return fromJson(parsed, 0);
}
