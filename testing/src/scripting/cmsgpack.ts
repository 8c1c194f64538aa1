/**
 * The table `cmsgpack` of scripts: MessagePack over byte strings, in the smallest form.
 */

import { LuaNull, LuaProblem, LuaTable, type LuaValue } from "./lua-values";

const MAX_NESTING = 16;

function bytes(size: number, write: (buffer: Buffer) => void): string {
  const buffer = Buffer.alloc(size);
  write(buffer);
  return buffer.toString("latin1");
}

function packInteger(value: number): string {
  if (value >= 0) {
    if (value < 0x80) return String.fromCharCode(value);
    if (value <= 0xff) return `\xcc${String.fromCharCode(value)}`;
    if (value <= 0xffff) return `\xcd${bytes(2, (buffer) => buffer.writeUInt16BE(value))}`;
    if (value <= 0xffffffff) return `\xce${bytes(4, (buffer) => buffer.writeUInt32BE(value))}`;
    return `\xcf${bytes(8, (buffer) => buffer.writeBigUInt64BE(BigInt(value)))}`;
  }
  if (value >= -32) return String.fromCharCode(value & 0xff);
  if (value >= -0x80) return `\xd0${bytes(1, (buffer) => buffer.writeInt8(value))}`;
  if (value >= -0x8000) return `\xd1${bytes(2, (buffer) => buffer.writeInt16BE(value))}`;
  if (value >= -0x80000000) return `\xd2${bytes(4, (buffer) => buffer.writeInt32BE(value))}`;
  return `\xd3${bytes(8, (buffer) => buffer.writeBigInt64BE(BigInt(value)))}`;
}

function packNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return packInteger(value);
  if (Math.fround(value) === value) return `\xca${bytes(4, (buffer) => buffer.writeFloatBE(value))}`;
  return `\xcb${bytes(8, (buffer) => buffer.writeDoubleBE(value))}`;
}

function packText(text: string): string {
  const { length } = text;
  if (length < 32) return String.fromCharCode(0xa0 | length) + text;
  if (length <= 0xff) return `\xd9${String.fromCharCode(length)}${text}`;
  if (length <= 0xffff) return `\xda${bytes(2, (buffer) => buffer.writeUInt16BE(length))}${text}`;
  return `\xdb${bytes(4, (buffer) => buffer.writeUInt32BE(length))}${text}`;
}

function packSize(size: number, small: number, wide: readonly [string, string]): string {
  if (size < 16) return String.fromCharCode(small | size);
  if (size <= 0xffff) return wide[0] + bytes(2, (buffer) => buffer.writeUInt16BE(size));
  return wide[1] + bytes(4, (buffer) => buffer.writeUInt32BE(size));
}

export function packValue(value: LuaValue, depth = 0): string {
  if (value === null || value instanceof LuaNull) return "\xc0";
  if (typeof value === "boolean") return value ? "\xc3" : "\xc2";
  if (typeof value === "number") return packNumber(value);
  if (typeof value === "string") return packText(value);
  if (depth > MAX_NESTING) return "\xc0";
  const items = value.items();
  if (items.length === value.entries.size) {
    return (
      packSize(items.length, 0x90, ["\xdc", "\xdd"]) +
      items.map((item) => packValue(item, depth + 1)).join("")
    );
  }
  const fields = [...value.entries].map(
    ([key, item]) => packValue(key, depth + 1) + packValue(item, depth + 1),
  );
  return packSize(fields.length, 0x80, ["\xde", "\xdf"]) + fields.join("");
}

class Unpacker {
  at = 0;
  private readonly buffer: Buffer;

  constructor(text: string) {
    this.buffer = Buffer.from(text, "latin1");
  }

  get isDone(): boolean {
    return this.at >= this.buffer.length;
  }

  value(): LuaValue {
    const type = this.take(1)[0] as number;
    if (type < 0x80) return type;
    if (type >= 0xe0) return type - 0x100;
    if (type < 0x90) return this.map(type & 0x0f);
    if (type < 0xa0) return this.array(type & 0x0f);
    if (type < 0xc0) return this.text(type & 0x1f);
    return this.wide(type);
  }

  private wide(type: number): LuaValue {
    switch (type) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return this.take(4).readFloatBE();
      case 0xcb:
        return this.take(8).readDoubleBE();
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.unsigned(2 ** (type - 0xcc));
      case 0xcf:
        return Number(this.take(8).readBigUInt64BE());
      case 0xd0:
      case 0xd1:
      case 0xd2: {
        const size = 2 ** (type - 0xd0);
        return this.take(size).readIntBE(0, size);
      }
      case 0xd3:
        return Number(this.take(8).readBigInt64BE());
      default:
        return this.sized(type);
    }
  }

  private sized(type: number): LuaValue {
    if (type >= 0xc4 && type <= 0xc6) return this.text(this.unsigned(2 ** (type - 0xc4)));
    if (type >= 0xd9 && type <= 0xdb) return this.text(this.unsigned(2 ** (type - 0xd9)));
    if (type === 0xdc || type === 0xdd) return this.array(this.unsigned(type === 0xdc ? 2 : 4));
    if (type === 0xde || type === 0xdf) return this.map(this.unsigned(type === 0xde ? 2 : 4));
    throw new LuaProblem("Bad data format in input.");
  }

  private unsigned(size: number): number {
    return this.take(size).readUIntBE(0, size);
  }

  private text(size: number): string {
    return this.take(size).toString("latin1");
  }

  private array(size: number): LuaTable {
    return LuaTable.ofArray(Array.from({ length: size }, () => this.value()));
  }

  private map(size: number): LuaTable {
    const table = new LuaTable();
    for (let index = 0; index < size; index++) {
      const key = this.value();
      const value = this.value();
      if (key !== null && typeof key !== "object") table.entries.set(key, value);
    }
    return table;
  }

  private take(size: number): Buffer {
    const end = this.at + size;
    if (end > this.buffer.length) throw new LuaProblem("Missing bytes in input.");
    const part = this.buffer.subarray(this.at, end);
    this.at = end;
    return part;
  }
}

export function unpackValues(text: LuaValue): LuaValue[] {
  const unpacker = new Unpacker(String(text));
  const values: LuaValue[] = [];
  while (!unpacker.isDone) values.push(unpacker.value());
  return values;
}
