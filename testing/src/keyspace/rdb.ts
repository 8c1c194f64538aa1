/**
 * Values as DUMP writes and RESTORE reads them: the type, the value in the plain or the packed form
 * of the servers' files, the version of that format, and a checksum. Written is the plain form of
 * each type (and packed forms nowhere), which every server reads; read are the packed forms as well.
 */

import { ListValue } from "./list-value";
import { SortedSetValue } from "./sorted-set-value";
import { HashValue, isIntegerMember, SetValue, type Value } from "./values";

const Type = {
  String: 0,
  List: 1,
  Set: 2,
  Hash: 4,
  SortedSet: 5,
  IntegerSet: 11,
  HashListpack: 16,
  SortedSetListpack: 17,
  QuickList: 18,
  SetListpack: 20,
} as const;
const FOOTER_BYTES = 10;
const PACKED_NODE = 2;
const COMPRESSED = 3;

const POLYNOMIAL = 0x95ac9329ac4bc9b5n;
let table: BigUint64Array | null = null;

/** CRC-64 of Jones, reflected, as the servers compute it. */
function crc64(bytes: Uint8Array): bigint {
  if (table === null) {
    table = new BigUint64Array(256);
    for (let index = 0; index < 256; index++) {
      let crc = BigInt(index);
      for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ POLYNOMIAL : crc >> 1n;
      table[index] = crc;
    }
  }
  let crc = 0n;
  for (const byte of bytes) crc = (table[Number((crc ^ BigInt(byte)) & 0xffn)] as bigint) ^ (crc >> 8n);
  return crc;
}

class Writer {
  private readonly parts: Buffer[] = [];

  byte(value: number): void {
    this.parts.push(Buffer.from([value]));
  }

  length(value: number): void {
    if (value < 64) this.byte(value);
    else if (value < 16_384) this.parts.push(Buffer.from([0x40 | (value >> 8), value & 0xff]));
    else {
      const bytes = Buffer.alloc(5);
      bytes[0] = 0x80;
      bytes.writeUInt32BE(value, 1);
      this.parts.push(bytes);
    }
  }

  /** A text; small integers in their short forms, as the servers write them. */
  text(value: string): void {
    const number = isIntegerMember(value) && value.length < 12 ? Number(value) : null;
    if (number !== null && number >= -128 && number <= 127) {
      this.parts.push(Buffer.from([0xc0, number & 0xff]));
    } else if (number !== null && number >= -32_768 && number <= 32_767) {
      this.parts.push(Buffer.from([0xc1, number & 0xff, (number >> 8) & 0xff]));
    } else if (number !== null && number >= -(2 ** 31) && number < 2 ** 31) {
      const bytes = Buffer.alloc(5);
      bytes[0] = 0xc2;
      bytes.writeInt32LE(number, 1);
      this.parts.push(bytes);
    } else {
      this.length(value.length);
      this.parts.push(Buffer.from(value, "latin1"));
    }
  }

  double(value: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    this.parts.push(bytes);
  }

  /** All of it with version and checksum. */
  end(version: number): string {
    this.parts.push(Buffer.from([version & 0xff, version >> 8]));
    const body = Buffer.concat(this.parts);
    const footer = Buffer.alloc(8);
    footer.writeBigUInt64LE(crc64(body));
    return Buffer.concat([body, footer]).toString("latin1");
  }
}

/** The bytes say something that is not possible. */
export class BadPayload extends Error {
  override readonly name = "BadPayload";
}

class Reader {
  private at = 0;

  constructor(private readonly bytes: Buffer) {}

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  byte(): number {
    const value = this.bytes[this.at++];
    if (value === undefined) throw new BadPayload("it ends too early");
    return value;
  }

  /** A length, or the number of a special form as a negative number. */
  private lengthOrForm(): number {
    const first = this.byte();
    if (first < 0x40) return first;
    if (first < 0x80) return ((first & 0x3f) << 8) | this.byte();
    if (first === 0x80) return this.take(4).readUInt32BE();
    if (first === 0x81) return Number(this.take(8).readBigUInt64BE());
    return -1 - (first & 0x3f);
  }

  length(): number {
    const value = this.lengthOrForm();
    if (value < 0) throw new BadPayload("a length is none");
    return value;
  }

  text(): string {
    const length = this.lengthOrForm();
    switch (length) {
      case -1:
        return String(this.take(1).readInt8());
      case -2:
        return String(this.take(2).readInt16LE());
      case -3:
        return String(this.take(4).readInt32LE());
      case -1 - COMPRESSED: {
        const packed = this.length();
        const size = this.length();
        return inflate(this.take(packed), size);
      }
      default:
        if (length < 0) throw new BadPayload("a text has an unknown form");
        return this.take(length).toString("latin1");
    }
  }

  double(): number {
    return this.take(8).readDoubleLE();
  }

  private take(size: number): Buffer {
    const end = this.at + size;
    if (end > this.bytes.length) throw new BadPayload("it ends too early");
    const part = this.bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }
}

/** LZF. */
function inflate(packed: Buffer, size: number): string {
  const out = Buffer.alloc(size);
  let to = 0;
  for (let at = 0; at < packed.length; ) {
    const control = packed[at++] as number;
    if (control < 32) {
      to += packed.copy(out, to, at, at + control + 1);
      at += control + 1;
      continue;
    }
    let length = control >> 5;
    if (length === 7) length += packed[at++] ?? 0;
    let from = to - ((control & 31) << 8) - (packed[at++] ?? 0) - 1;
    if (from < 0) throw new BadPayload("a compressed text refers to nothing");
    for (let left = length + 2; left > 0; left--) out[to++] = out[from++] ?? 0;
  }
  if (to !== size) throw new BadPayload("a compressed text has another size");
  return out.toString("latin1");
}

/** The elements of a listpack. */
function unpack(text: string): string[] {
  const bytes = Buffer.from(text, "latin1");
  const items: string[] = [];
  for (let at = 6; at < bytes.length && bytes[at] !== 0xff; ) {
    const { value, size } = packedElement(bytes, at);
    items.push(value);
    at += size + backLengthBytes(size);
  }
  return items;
}

function backLengthBytes(size: number): number {
  if (size < 128) return 1;
  if (size < 16_384) return 2;
  if (size < 2_097_152) return 3;
  return size < 268_435_456 ? 4 : 5;
}

/** Fixed-size integers of a listpack, by their first byte. */
const PACKED_INTEGERS: Readonly<
  Record<number, readonly [size: number, read: (bytes: Buffer, at: number) => string]>
> = {
  241: [3, (bytes, at) => String(bytes.readInt16LE(at))],
  242: [4, (bytes, at) => String(bytes.readIntLE(at, 3))],
  243: [5, (bytes, at) => String(bytes.readInt32LE(at))],
  244: [9, (bytes, at) => String(bytes.readBigInt64LE(at))],
};

function packedElement(bytes: Buffer, at: number): { value: string; size: number } {
  const first = bytes[at] as number;
  if (first < 0x80) return { value: String(first), size: 1 };
  const string = (head: number, length: number) => ({
    value: bytes.toString("latin1", at + head, at + head + length),
    size: head + length,
  });
  if (first < 0xc0) return string(1, first & 0x3f);
  const second = bytes[at + 1] ?? 0;
  if (first < 0xe0) {
    const raw = ((first & 0x1f) << 8) | second;
    return { value: String(raw >= 4096 ? raw - 8192 : raw), size: 2 };
  }
  if (first < 0xf0) return string(2, ((first & 0x0f) << 8) | second);
  if (first === 0xf0) return string(5, bytes.readUInt32LE(at + 1));
  const integer = PACKED_INTEGERS[first];
  if (integer === undefined) throw new BadPayload("a listpack has an unknown element");
  return { value: integer[1](bytes, at + 1), size: integer[0] };
}

function unpackIntegers(text: string): string[] {
  const bytes = Buffer.from(text, "latin1");
  const width = bytes.readUInt32LE(0);
  const items: string[] = [];
  for (let at = 8; at + width <= bytes.length; at += width) {
    items.push(String(width === 8 ? bytes.readBigInt64LE(at) : bytes.readIntLE(at, width)));
  }
  return items;
}

/** Null for a stream and a hash whose fields expire: their forms are not written here. */
export function dumpValue(value: Value, version: number): string | null {
  const writer = new Writer();
  if (typeof value === "string") {
    writer.byte(Type.String);
    writer.text(value);
  } else if (value instanceof ListValue) {
    writer.byte(Type.List);
    writeAll(writer, value.toArray());
  } else if (value instanceof SetValue) {
    writer.byte(Type.Set);
    writeAll(writer, value.list());
  } else if (value instanceof HashValue && (value.expiries?.size ?? 0) === 0) {
    writer.byte(Type.Hash);
    writer.length(value.size);
    for (const [field, text] of value.fields) for (const part of [field, text]) writer.text(part);
  } else if (value instanceof SortedSetValue) {
    writer.byte(Type.SortedSet);
    writer.length(value.size);
    for (const { member, score } of [...value.members].reverse()) {
      writer.text(member);
      writer.double(score);
    }
  } else return null;
  return writer.end(version);
}

function writeAll(writer: Writer, items: readonly string[]): void {
  writer.length(items.length);
  for (const item of items) writer.text(item);
}

/** Whether the checksum is right, and the version not newer than this. */
export function isIntact(payload: string, newest: number): boolean {
  if (payload.length < FOOTER_BYTES) return false;
  const bytes = Buffer.from(payload, "latin1");
  const version = bytes.readUInt16LE(bytes.length - FOOTER_BYTES);
  const checksum = bytes.readBigUInt64LE(bytes.length - 8);
  return version <= newest && (checksum === 0n || crc64(bytes.subarray(0, -8)) === checksum);
}

/** The value of an intact payload; null for a type that is not read here. Throws `BadPayload`. */
export function loadValue(payload: string): Value | null {
  const reader = new Reader(Buffer.from(payload, "latin1").subarray(0, -FOOTER_BYTES));
  const type = reader.byte();
  const value = readValue(reader, type);
  if (value !== null && !reader.isAtEnd) throw new BadPayload("it goes on behind its value");
  return value;
}

function readValue(reader: Reader, type: number): Value | null {
  switch (type) {
    case Type.String:
      return reader.text();
    case Type.List:
      return new ListValue([], readAll(reader, reader.length()));
    case Type.QuickList:
      return new ListValue([], readQuickList(reader));
    case Type.Set:
      return setOf(readAll(reader, reader.length()));
    case Type.IntegerSet:
      return setOf(unpackIntegers(reader.text()));
    case Type.SetListpack:
      return setOf(unpack(reader.text()));
    case Type.Hash:
      return hashOf(readAll(reader, 2 * reader.length()));
    case Type.HashListpack:
      return hashOf(unpack(reader.text()));
    case Type.SortedSet:
      return readSortedSet(reader);
    case Type.SortedSetListpack:
      return sortedSetOf(unpack(reader.text()));
    default:
      return null;
  }
}

function readAll(reader: Reader, count: number): string[] {
  const items: string[] = [];
  for (let index = 0; index < count; index++) items.push(reader.text());
  return items;
}

function readQuickList(reader: Reader): string[] {
  const items: string[] = [];
  for (let left = reader.length(); left > 0; left--) {
    const isPacked = reader.length() === PACKED_NODE;
    const node = reader.text();
    if (isPacked) items.push(...unpack(node));
    else items.push(node);
  }
  return items;
}

function setOf(members: readonly string[]): SetValue {
  const isIntegers = members.every(isIntegerMember);
  return new SetValue(new Set(members), isIntegers ? "intset" : "listpack");
}

function hashOf(words: readonly string[]): HashValue {
  const hash = new HashValue();
  for (let index = 0; index + 1 < words.length; index += 2) {
    hash.fields.set(words[index] as string, words[index + 1] as string);
  }
  return hash;
}

function readSortedSet(reader: Reader): SortedSetValue {
  const zset = new SortedSetValue();
  for (let left = reader.length(); left > 0; left--) {
    const member = reader.text();
    zset.set(member, reader.double());
  }
  return zset;
}

function sortedSetOf(words: readonly string[]): SortedSetValue {
  const zset = new SortedSetValue();
  for (let index = 0; index + 1 < words.length; index += 2) {
    zset.set(words[index] as string, Number((words[index + 1] as string).replace("inf", "Infinity")));
  }
  return zset;
}
