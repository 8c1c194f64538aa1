/**
 * HyperLogLog as servers keep it: a string that begins with `HYLL`, 16,384 registers of six bits, in
 * runs (sparse) or one behind the other (dense). The estimate is Ertl's, as in the servers.
 */

const REGISTERS = 16_384;
const HEADER_BYTES = 16;
const DENSE_BYTES = HEADER_BYTES + (REGISTERS * 6) / 8;
const SPARSE_LIMIT = 3000;
const SPARSE_MAX_VALUE = 32;
const MAX_RUN = 16_384;
const SHORT_RUN = 64;
const VALUE_RUN = 4;
const HASH_BITS = 50;
const SEED = 0xadc83b19n;
const M = 0xc6a4a7935bd1e995n;
const MASK = 0xffffffffffffffffn;
const ALPHA = 0.7213475204444817;
const STALE = 0x80;

export type Registers = Uint8Array;

/** MurmurHash64A. */
function hash(text: string): bigint {
  const bytes = Buffer.from(text, "latin1");
  let h = SEED ^ ((BigInt(bytes.length) * M) & MASK);
  const whole = bytes.length - (bytes.length % 8);
  for (let at = 0; at < whole; at += 8) {
    let k = (bytes.readBigUInt64LE(at) * M) & MASK;
    k ^= k >> 47n;
    h ^= (k * M) & MASK;
    h = (h * M) & MASK;
  }
  if (whole < bytes.length) {
    for (let at = bytes.length - 1; at >= whole; at--)
      h ^= BigInt(bytes[at] as number) << BigInt(8 * (at - whole));
    h = (h * M) & MASK;
  }
  h ^= h >> 47n;
  h = (h * M) & MASK;
  return h ^ (h >> 47n);
}

/** Register and the length of the run of zeros, for an element. */
function patternOf(element: string): { index: number; count: number } {
  const value = hash(element);
  const index = Number(value & BigInt(REGISTERS - 1));
  let rest = (value >> 14n) | (1n << BigInt(HASH_BITS));
  let count = 1;
  while ((rest & 1n) === 0n) {
    count++;
    rest >>= 1n;
  }
  return { index, count };
}

export class HyperLogLog {
  private constructor(
    readonly registers: Registers,
    private isDense: boolean,
    /** The estimate that the string holds. */
    private cached: number,
    private isStale: boolean,
  ) {}

  /** Three bytes of the header that mean nothing. */
  private reserved = "\0\0\0";

  static empty(): HyperLogLog {
    return new HyperLogLog(new Uint8Array(REGISTERS), false, 0, false);
  }

  /** Whether a string begins as one. */
  static isOne(text: string): boolean {
    if (!text.startsWith("HYLL") || text.length < HEADER_BYTES) return false;
    const encoding = text.charCodeAt(4);
    return encoding === 0 ? text.length === DENSE_BYTES : encoding === 1;
  }

  /** Null if the registers cannot be read. */
  static parse(text: string): HyperLogLog | null {
    const isDense = text.charCodeAt(4) === 0;
    const bytes = Buffer.from(text, "latin1");
    const registers = isDense ? readDense(bytes) : readSparse(bytes);
    if (registers === null) return null;
    const isStale = ((bytes[15] as number) & STALE) !== 0;
    bytes[15] = (bytes[15] as number) & ~STALE;
    const log = new HyperLogLog(registers, isDense, Number(bytes.readBigUInt64LE(8)), isStale);
    log.reserved = text.slice(5, 8);
    return log;
  }

  /** True if it changed. */
  add(element: string): boolean {
    const { index, count } = patternOf(element);
    if ((this.registers[index] as number) >= count) return false;
    this.registers[index] = count;
    this.isStale = true;
    return true;
  }

  merge(other: HyperLogLog): void {
    for (let index = 0; index < REGISTERS; index++) {
      const value = other.registers[index] as number;
      if (value > (this.registers[index] as number)) this.registers[index] = value;
    }
    if (other.isDense) this.isDense = true;
    this.isStale = true;
  }

  /** Forgets the estimate. */
  touch(): void {
    this.isStale = true;
  }

  /** The estimate; `isFresh` says that the string holds it already. */
  count(): { value: number; isFresh: boolean } {
    if (!this.isStale) return { value: this.cached, isFresh: true };
    this.cached = estimate(this.registers);
    this.isStale = false;
    return { value: this.cached, isFresh: false };
  }

  /** The bytes of the string. */
  toString(): string {
    const body = this.isDense ? null : writeSparse(this.registers);
    const header = Buffer.alloc(HEADER_BYTES);
    header.write("HYLL", "latin1");
    header[4] = body === null ? 0 : 1;
    header.write(this.reserved, 5, "latin1");
    header.writeBigUInt64LE(BigInt(this.cached), 8);
    if (this.isStale) header[15] = (header[15] as number) | STALE;
    return Buffer.concat([header, body ?? writeDense(this.registers)]).toString("latin1");
  }

  get encoding(): "dense" | "sparse" {
    return this.isDense || writeSparse(this.registers) === null ? "dense" : "sparse";
  }

  densify(): void {
    this.isDense = true;
  }
}

function readDense(bytes: Buffer): Registers {
  const registers = new Uint8Array(REGISTERS);
  for (let index = 0; index < REGISTERS; index++) {
    const bit = index * 6;
    const at = HEADER_BYTES + (bit >> 3);
    const word = (bytes[at] as number) | ((bytes[at + 1] ?? 0) << 8);
    registers[index] = (word >> (bit & 7)) & 63;
  }
  return registers;
}

function writeDense(registers: Registers): Buffer {
  const bytes = Buffer.alloc(DENSE_BYTES - HEADER_BYTES);
  for (let index = 0; index < REGISTERS; index++) {
    const bit = index * 6;
    const word = (registers[index] as number) << (bit & 7);
    const at = bit >> 3;
    bytes[at] = (bytes[at] as number) | (word & 0xff);
    if (word > 0xff) bytes[at + 1] = (bytes[at + 1] as number) | (word >> 8);
  }
  return bytes;
}

/** Runs of zeros (one or two bytes) and of one value. */
function readSparse(bytes: Buffer): Registers | null {
  const registers = new Uint8Array(REGISTERS);
  let index = 0;
  for (let at = HEADER_BYTES; at < bytes.length; at++) {
    const code = bytes[at] as number;
    if (code < 0x40) index += (code & 0x3f) + 1;
    else if (code < 0x80) index += (((code & 0x3f) << 8) | (bytes[++at] ?? 0)) + 1;
    else {
      const run = (code & 3) + 1;
      registers.fill(((code >> 2) & 31) + 1, index, index + run);
      index += run;
    }
  }
  return index === REGISTERS ? registers : null;
}

/** Null if it is too long, or a value too high. */
function writeSparse(registers: Registers): Buffer | null {
  const codes: number[] = [];
  for (let index = 0; index < REGISTERS; ) {
    const value = registers[index] as number;
    if (value > SPARSE_MAX_VALUE) return null;
    let run = 1;
    const limit = value === 0 ? MAX_RUN : VALUE_RUN;
    while (run < limit && registers[index + run] === value) run++;
    if (value > 0) codes.push(0x80 | ((value - 1) << 2) | (run - 1));
    else if (run <= SHORT_RUN) codes.push(run - 1);
    else codes.push(0x40 | ((run - 1) >> 8), (run - 1) & 0xff);
    index += run;
  }
  return codes.length > SPARSE_LIMIT - HEADER_BYTES ? null : Buffer.from(codes);
}

function sigma(start: number): number {
  if (start === 1) return Number.POSITIVE_INFINITY;
  let x = start;
  let y = 1;
  let z = x;
  for (let before = Number.NaN; before !== z; ) {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  }
  return z;
}

function tau(start: number): number {
  if (start === 0 || start === 1) return 0;
  let x = start;
  let y = 1;
  let z = 1 - x;
  for (let before = Number.NaN; before !== z; ) {
    x = Math.sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) ** 2 * y;
  }
  return z / 3;
}

/** How many different elements were added, nearly. */
function estimate(registers: Registers): number {
  const histogram = new Array<number>(64).fill(0);
  for (const value of registers) histogram[value] = (histogram[value] as number) + 1;
  const m = REGISTERS;
  let z = m * tau((m - (histogram[HASH_BITS + 1] as number)) / m);
  for (let value = HASH_BITS; value >= 1; value--) {
    z += histogram[value] as number;
    z *= 0.5;
  }
  z += m * sigma((histogram[0] as number) / m);
  return Math.round((ALPHA * m * m) / z);
}
