/**
 * Writes commands as RESP arrays of bulk strings into an output buffer. Short ASCII strings, the common case,
 * are written byte by byte; other strings by the runtime. A string is never measured first: it is written
 * behind a gap, into which its header is then put.
 */

import { ASCII } from "./ascii";
import { MAX_POOLED_BYTES } from "./block-pool";
import { copyInto } from "./copy-bytes";
import { countDigits, writeDigits } from "./numbers";
import { type OutputBuffer, REFERENCE_FROM_BYTES } from "./output-buffer";
import type { Argument } from "./resp-types";

const { ASTERISK, CR, DOLLAR, LAST, LF, ZERO } = ASCII;

/** In characters: the longest strings that a loop writes (benchmarks/micro/encoder.ts). At most 99. */
const LOOP_LENGTH = 32;
/** `$`, digits of the largest length, CRLF around the value. */
const MAX_FRAMING_BYTES = 1 + 16 + 4;
/** The encoded size of a string of `LOOP_LENGTH` ASCII characters. */
const LOOP_ROOM_BYTES = LOOP_LENGTH + 7;
/** The most UTF-8 bytes for each UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/**
 * If this much room is left, the text was written completely: room for one more character, the line end, and
 * a header that is longer than for ASCII text of the same length.
 */
const SLACK_BYTES = 8;

/** Appends one command. `encodedName` is its name as a bulk string, `$3\r\nget\r\n`. */
export function encodeCommand(out: OutputBuffer, encodedName: Buffer, args: readonly Argument[]): void {
  out.ensure(MAX_FRAMING_BYTES + encodedName.length);
  let at = writeHeader(out.bytes, out.at, ASTERISK, args.length + 1);
  for (let i = 0; i < encodedName.length; i++) out.bytes[at++] = encodedName[i] as number;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (typeof arg === "string" && arg.length <= LOOP_LENGTH && out.bytes.length - at >= LOOP_ROOM_BYTES) {
      const end = writeShortAscii(out.bytes, at, arg);
      if (end > 0) {
        at = end;
        continue;
      }
    }
    out.at = at;
    if (typeof arg === "string") writeText(out, arg);
    else writeBuffer(out, arg as Buffer);
    at = out.at;
  }
  out.at = at;
}

/** Returns the position after the header. */
function writeHeader(bytes: Buffer, at: number, type: number, size: number): number {
  bytes[at] = type;
  let i = at + 1;
  if (size < 10) bytes[i++] = ZERO + size;
  else i = writeDigits(bytes, i, size);
  bytes[i] = CR;
  bytes[i + 1] = LF;
  return i + 2;
}

/** Returns the position after it, or 0 if the text is not ASCII. */
function writeShortAscii(bytes: Buffer, at: number, text: string): number {
  const size = text.length;
  let i = at + 1;
  bytes[at] = DOLLAR;
  if (size > 9) bytes[i++] = ZERO + Math.floor(size / 10);
  bytes[i] = ZERO + (size % 10);
  bytes[i + 1] = CR;
  bytes[i + 2] = LF;
  i += 3;
  let bits = 0;
  for (let k = 0; k < size; k++) {
    const unit = text.charCodeAt(k);
    bits |= unit;
    bytes[i + k] = unit;
  }
  if (bits > LAST) return 0;
  i += size;
  bytes[i] = CR;
  bytes[i + 1] = LF;
  return i + 2;
}

function writeText(out: OutputBuffer, text: string): void {
  // Most texts are ASCII; reserving three bytes per unit would touch three times the memory.
  if (writeTextWithin(out, text, text.length + MAX_FRAMING_BYTES + SLACK_BYTES)) return;
  const room = text.length * BYTES_PER_UNIT + MAX_FRAMING_BYTES + SLACK_BYTES;
  if (room > MAX_POOLED_BYTES || !writeTextWithin(out, text, room)) writeReference(out, Buffer.from(text));
}

/** Returns false, and changes nothing, if the text may not have fitted. */
function writeTextWithin(out: OutputBuffer, text: string, room: number): boolean {
  if (room > MAX_POOLED_BYTES) return false;
  out.ensure(room);
  const { bytes, at } = out;
  // If the text is ASCII, the gap has the size of the header.
  const gap = 1 + countDigits(text.length) + 2;
  const size = bytes.write(text, at + gap);
  if (bytes.length - at - gap - size < SLACK_BYTES) return false;
  const header = 1 + countDigits(size) + 2;
  if (header !== gap) bytes.copyWithin(at + header, at + gap, at + gap + size);
  writeHeader(bytes, at, DOLLAR, size);
  writeLineEnd(out, at + header + size);
  return true;
}

function writeBuffer(out: OutputBuffer, buffer: Buffer): void {
  const size = buffer.length;
  if (size >= REFERENCE_FROM_BYTES) {
    writeReference(out, buffer);
    return;
  }
  out.ensure(size + MAX_FRAMING_BYTES);
  const at = writeHeader(out.bytes, out.at, DOLLAR, size);
  writeLineEnd(out, copyInto(out.bytes, at, buffer));
}

function writeReference(out: OutputBuffer, buffer: Buffer): void {
  out.ensure(MAX_FRAMING_BYTES);
  out.at = writeHeader(out.bytes, out.at, DOLLAR, buffer.length);
  out.appendReference(buffer);
  out.ensure(2);
  writeLineEnd(out, out.at);
}

function writeLineEnd(out: OutputBuffer, at: number): void {
  out.bytes[at] = CR;
  out.bytes[at + 1] = LF;
  out.at = at + 2;
}
