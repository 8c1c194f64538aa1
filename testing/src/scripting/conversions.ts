/**
 * Replies as Lua values and back, by the rules of the servers: in scripts of RESP2 a null is false
 * and a map a list; with `redis.setresp(3)` both have forms of their own.
 */

import { formatShortest } from "../protocol/numbers";
import {
  BigNumberReply,
  DoubleReply,
  ErrorReply,
  MapReply,
  NullArray,
  type ReplyValue,
  SetReply,
  Status,
  VerbatimReply,
} from "../protocol/reply";
import type { Protocol } from "../protocol/reply-writer";
import { LuaNull, LuaTable, type LuaValue } from "./lua-values";

const LOWEST_INTEGER = -(2n ** 63n);

function pairsOf(pairs: readonly ReplyValue[], protocol: Protocol): LuaTable {
  const table = new LuaTable();
  for (let index = 0; index < pairs.length; index += 2) {
    const key = toLua(pairs[index] as ReplyValue, protocol);
    if (key !== null && typeof key !== "object")
      table.entries.set(key, toLua(pairs[index + 1] as ReplyValue, protocol));
  }
  return table;
}

export function toLua(value: ReplyValue, protocol: Protocol): LuaValue {
  if (typeof value === "string" || typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (typeof value === "boolean") return protocol === 3 ? value : value ? 1 : 0;
  if (value === null || value instanceof NullArray) return protocol === 3 ? null : false;
  if (value instanceof Status) return LuaTable.ofFields({ ok: value.text });
  if (value instanceof ErrorReply) return LuaTable.ofFields({ err: value.message });
  if (value instanceof VerbatimReply) return verbatim(value, protocol);
  if (value instanceof DoubleReply) {
    return protocol === 3 ? LuaTable.ofFields({ double: value.value }) : value.text;
  }
  if (value instanceof MapReply) {
    if (protocol === 3) return LuaTable.ofFields({ map: pairsOf(value.pairs, protocol) });
    return LuaTable.ofArray(value.pairs.map((item) => toLua(item, protocol)));
  }
  if (value instanceof SetReply) {
    if (protocol === 2) return LuaTable.ofArray(value.members.map((item) => toLua(item, protocol)));
    return LuaTable.ofFields({
      set: pairsOf(
        value.members.flatMap((member) => [member, true]),
        protocol,
      ),
    });
  }
  if (value instanceof BigNumberReply) {
    return protocol === 3 ? LuaTable.ofFields({ big_number: value.digits }) : value.digits;
  }
  return LuaTable.ofArray((value as readonly ReplyValue[]).map((item) => toLua(item, protocol)));
}

function verbatim({ text, format }: VerbatimReply, protocol: Protocol): LuaValue {
  if (protocol === 2) return text;
  return LuaTable.ofFields({ verbatim_string: LuaTable.ofFields({ string: text, format }) });
}

/** How the script and the connection shape replies. */
export interface Shapes {
  readonly script: Protocol;
  readonly connection: Protocol;
}

export function fromLua(value: LuaValue, shapes: Shapes): ReplyValue {
  if (value === null || value instanceof LuaNull) return null;
  if (typeof value === "string") return value;
  if (typeof value === "number") return integerOf(value);
  if (typeof value === "boolean") {
    if (shapes.script === 3) return value;
    return value ? 1 : null;
  }
  return fromTable(value, shapes);
}

/** Cut to a whole number of 64 bits. */
function integerOf(value: number): ReplyValue {
  const whole = Math.trunc(value);
  if (Number.isSafeInteger(whole)) return whole === 0 ? 0 : whole;
  // A number that does not fit is the lowest one, as the processor makes it.
  return Math.abs(whole) < 2 ** 63 ? BigInt(whole) : LOWEST_INTEGER;
}

function fromTable(table: LuaTable, shapes: Shapes): ReplyValue {
  const problem = table.get("err");
  if (typeof problem === "string") return new ErrorReply(problem);
  const status = table.get("ok");
  if (typeof status === "string") return new Status(status.replace(/[\r\n]/g, " "));
  const double = table.get("double");
  if (typeof double === "number") return new DoubleReply(double, formatShortest(double));
  const map = table.get("map");
  if (map instanceof LuaTable) {
    return new MapReply(
      [...map.entries].flatMap(([key, item]) => [fromLua(key, shapes), fromLua(item, shapes)]),
    );
  }
  const set = table.get("set");
  if (set instanceof LuaTable)
    return new SetReply([...set.entries.keys()].map((key) => fromLua(key, shapes)));
  const digits = table.get("big_number");
  if (typeof digits === "string") return new BigNumberReply(digits.replace(/[\r\n]/g, " "));
  const text = table.get("verbatim_string");
  if (text instanceof LuaTable) return new VerbatimReply(String(text.get("string")));
  return table.items().map((item) => fromLua(item, shapes));
}
