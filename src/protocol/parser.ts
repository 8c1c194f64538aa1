/**
 * Parses RESP2 and RESP3, except the streamed forms, which no server sends, from bytes that may be split
 * anywhere. Strict: invalid RESP or an exceeded limit ends the parser. Independent of sockets and commands.
 *
 * Input: `reserve()` returns the memory for the next read and `commit(n)` reports it; or `push(chunk)` passes
 * other bytes (a chunk is neither modified nor kept). A connection uses one of the two.
 *
 * A token (a line, or a whole bulk string) is read completely or not at all, and finished elements stay in the
 * frames of the builder: when more bytes arrive, only the last token is read again. For a long line the parser
 * remembers how far it has searched for the end.
 */

import { ParserError, ReplyError, ReplyTooLongError } from "../errors";
import { withoutStack } from "../util/without-stack";
import { ASCII } from "./ascii";
import { copyBytes } from "./copy-bytes";
import { decodeText } from "./decode-value";
import { InputBuffer } from "./input-buffer";
import {
  MAX_BULK_BYTES,
  MAX_DEPTH,
  MAX_ELEMENTS,
  MAX_INTEGER_DIGITS,
  MAX_LINE_BYTES,
  MAX_STATUS_BYTES,
  MAX_TEXT_BYTES,
} from "./limits";
import { type Message, WireMessage } from "./message";
import { EXACT_DIGITS, integerOf, isInteger } from "./numbers";
import { isEarned, PassingBulk } from "./passing-bulk";
import { ReplyBuilder } from "./reply-builder";
import { FrameKind } from "./reply-frame";
import type { ReplySink } from "./reply-sink";
import { Decode } from "./resp-types";
import { decodeScalar, scalarFault } from "./scalar-line";
import { TypeByte } from "./type-byte";

const { COLON, CR, LF, MINUS, ZERO } = ASCII;

export type { Message, ReplySink };

/** `txt:` at the start of a verbatim string. */
const VERBATIM_TAG_BYTES = 4;
const NO_LINE_END = "no CRLF behind the value";
/** Integers do not become numbers. */
const NO_NUMBERS = Decode.StringNumbers | Decode.BigInts;

/** The type byte, the ten digits of the largest length, and one more to detect longer ones. */
const MAX_LENGTH_TOKEN = 12;

/** Results of `readLength` other than lengths. */
const NULL_LENGTH = -1;
/** Incomplete, or invalid (then the parser has failed). */
const NO_LENGTH = -2;

export class Parser {
  private readonly input = new InputBuffer();
  private bytes: Buffer = this.input.bytes;
  /** The position of the type byte of the current token. */
  private at = 0;
  /** The position after the last received byte. */
  private end = 0;
  /** The position after the line that `readLength` has read. */
  private cursor = 0;
  /** False once stopped or failed; then no more bytes are read. */
  private isLive = true;
  private failure: ParserError | null = null;
  /** The bytes of the current line that are known not to contain its end. */
  private searched = 0;
  private readonly builder: ReplyBuilder;
  private readonly passing = new PassingBulk();
  /** The size of the unfinished token at the start of the unread bytes, if known. */
  private neededBytes = 0;
  /** Created with the first message. */
  private message: WireMessage | null = null;

  constructor(private readonly sink: ReplySink) {
    this.builder = new ReplyBuilder(sink);
  }

  /** The memory for the next read. Must be called before every read, because the memory is shared. */
  reserve(): Uint8Array {
    const { passing } = this;
    return (passing.left > 0 ? passing.room : null) ?? this.input.reserve(this.neededBytes);
  }

  /** `byteCount` bytes were read into the memory from `reserve`. */
  commit(byteCount: number): void {
    if (!this.isLive) return;
    if (this.passing.left > 0 && this.passing.room !== null) {
      this.passing.left -= byteCount;
      this.input.origin += byteCount;
    } else {
      this.input.end += byteCount;
      this.execute();
    }
  }

  push(chunk: Buffer): void {
    if (!this.isLive) return;
    this.input.append(chunk, this.neededBytes);
    this.execute();
  }

  /** Ends reading and reporting; the sink may call it in the middle of a buffer. */
  stop(): void {
    this.isLive = false;
    this.passing.finish();
    this.input.drop();
  }

  private execute(): void {
    const input = this.input;
    this.bytes = input.bytes;
    this.at = input.start;
    this.end = input.end;
    this.neededBytes = 0;
    try {
      this.readTokens();
    } finally {
      if (this.isLive) {
        input.start = this.at;
        input.keepRest();
      } else input.drop();
    }
    if (this.failure !== null) this.sink.onParserError(this.failure);
  }

  private readTokens(): void {
    if (this.passing.left > 0 && !this.passBulk()) return;
    const { builder, bytes } = this;
    while (this.at < this.end && this.isLive) {
      const type = bytes[this.at] as number;
      if (builder.isIdle) {
        builder.begin(type);
        if (!this.isLive) return;
        if ((builder.decoding & Decode.Messages) !== 0 && this.readMessage()) continue;
      }
      if (!this.readToken(type)) return;
    }
  }

  /** Reads a whole message of pub/sub. Returns false if it is not one, or has to be read token by token. */
  private readMessage(): boolean {
    const message = this.message ?? (this.message = new WireMessage());
    const stop = message.read(this.bytes, this.at, this.end);
    if (stop < 0) return false;
    this.at = stop;
    this.builder.isIdle = true;
    this.sink.onMessage(message);
    message.letGo();
    return true;
  }

  /** Reads one token and places its value. Returns false if it is incomplete, invalid, or refused by the builder. */
  private readToken(type: number): boolean {
    switch (type) {
      case TypeByte.Bulk:
      case TypeByte.BulkError:
      case TypeByte.Verbatim:
        return this.readBulk(type);
      case TypeByte.Integer:
        return this.readInteger();
      case TypeByte.SimpleString:
      case TypeByte.Error:
        return this.readTextLine(type);
      case TypeByte.List:
      case TypeByte.Set:
      case TypeByte.Push:
        return this.readList(type);
      case TypeByte.Map:
      case TypeByte.Attribute:
        return this.readMap(type);
      case TypeByte.Null:
      case TypeByte.Boolean:
      case TypeByte.Double:
      case TypeByte.BigNumber:
        return this.readScalarLine(type);
      default:
        return this.abandon(`Unknown RESP type ${type} "${String.fromCharCode(type)}". Please report this.`);
    }
  }

  // --- bulk strings ----------------------------------------------------------------------

  private readBulk(type: number): boolean {
    const length = this.readLength(MAX_BULK_BYTES);
    if (length < 0) return length === NULL_LENGTH && this.builder.place(null);
    if (length > MAX_TEXT_BYTES && !this.builder.isDropping && !this.has(Decode.Buffers)) {
      this.builder.failReply(new ReplyTooLongError(`${length} bytes`));
    }
    const start = this.cursor;
    const stop = start + length;
    if (stop + 2 > this.end) return this.awaitBulk(type, length);
    if (this.bytes[stop] !== CR || this.bytes[stop + 1] !== LF) return this.fail(NO_LINE_END, stop);
    this.at = stop + 2;
    if (type === TypeByte.Bulk) return this.placeString(start, stop);
    return type === TypeByte.Verbatim ? this.placeVerbatim(start, stop) : this.placeError(start, stop);
  }

  /** The format of a verbatim string is dropped. */
  private placeVerbatim(start: number, stop: number): boolean {
    const textStart = start + VERBATIM_TAG_BYTES;
    // A dropped string may have been skipped in pieces, so its format is not checked.
    if (!this.builder.isDropping && (textStart > stop || this.bytes[textStart - 1] !== COLON)) {
      return this.fail("a verbatim string without its format", start);
    }
    return this.placeString(textStart, stop);
  }

  /** The header of a bulk string has arrived, the rest has not: waits for it, or reads it in pieces. */
  private awaitBulk(type: number, length: number): boolean {
    const { builder } = this;
    const isBuffer = type === TypeByte.Bulk && this.has(Decode.Buffers);
    if (builder.isDropping || (isBuffer && isEarned(length, this.end - this.cursor))) {
      this.at = this.cursor;
      this.passing.begin(length, builder.isDropping);
      this.passBulk();
    } else this.neededBytes = this.cursor + length + 2 - this.at;
    return false;
  }

  /** Returns false while more bytes are to come. */
  private passBulk(): boolean {
    const { passing } = this;
    this.at += passing.take(this.bytes, this.at, this.end);
    const { at, bytes } = this;
    if (passing.left > 2 || this.end - at < 2) return false;
    if (bytes[at] !== CR || bytes[at + 1] !== LF) return this.fail(NO_LINE_END, at);
    this.at = at + 2;
    return this.builder.place(passing.finish());
  }

  private placeString(start: number, stop: number): boolean {
    const { builder } = this;
    if (builder.isDropping) return builder.place(null);
    if ((builder.decoding & Decode.Buffers) !== 0) return builder.place(copyBytes(this.bytes, start, stop));
    return builder.place(decodeText(this.bytes, start, stop));
  }

  // --- aggregates ------------------------------------------------------------------------

  private readList(type: number): boolean {
    const length = this.readLength(MAX_ELEMENTS);
    if (length < 0) return length === NULL_LENGTH && this.builder.place(null);
    if (type === TypeByte.Push && this.builder.frame !== null) return this.fail("a push inside a reply");
    return this.open(FrameKind.List, length);
  }

  /** Pairs: a map, or metadata. */
  private readMap(type: number): boolean {
    const length = this.readLength(Math.floor(MAX_ELEMENTS / 2));
    return length >= 0 && this.open(this.mapKind(type), length * 2);
  }

  private open(kind: FrameKind, count: number): boolean {
    this.at = this.cursor;
    return this.builder.open(kind, count) || this.fail(`nesting deeper than ${MAX_DEPTH}`);
  }

  private mapKind(type: number): FrameKind {
    if (type === TypeByte.Attribute) return FrameKind.Attribute;
    if (this.has(Decode.Maps)) return FrameKind.Map;
    return this.has(Decode.Resp3Shapes | Decode.Objects) ? FrameKind.Dictionary : FrameKind.List;
  }

  // --- lines -----------------------------------------------------------------------------

  private readInteger(): boolean {
    const { bytes, at, end } = this;
    const first = bytes[at + 1] === MINUS ? at + 2 : at + 1;
    const stop = Math.min(end - 1, first + EXACT_DIGITS);
    let value = 0;
    let i = first;
    for (; i < stop; i++) {
      const digit = (bytes[i] as number) - ZERO;
      if (digit >>> 0 > 9) break;
      value = value * 10 + digit;
    }
    const isPlain = i > first && i + 1 < end && bytes[i] === CR && bytes[i + 1] === LF;
    if (!isPlain || this.has(NO_NUMBERS)) return this.readUnusualInteger();
    this.at = i + 2;
    this.searched = 0;
    return this.builder.place(first > at + 1 ? 0 - value : value);
  }

  /** Reads an integer that has a plus sign or many digits, is wanted as text or bigint, or is incomplete. */
  private readUnusualInteger(): boolean {
    const lineEnd = this.findLineEnd();
    if (lineEnd < 0) return false;
    const text = decodeText(this.bytes, this.at + 1, lineEnd);
    if (!isInteger(text)) return this.fail("an integer that is not a number");
    if (text.length > MAX_INTEGER_DIGITS) return this.fail("an integer of more than 64 bits");
    this.at = lineEnd + 2;
    return this.builder.place(integerOf(text, this.builder.decoding));
  }

  /** A status or an error. */
  private readTextLine(type: number): boolean {
    const lineEnd = this.findLineEnd(MAX_TEXT_BYTES);
    if (lineEnd < 0) return false;
    const start = this.at + 1;
    this.at = lineEnd + 2;
    // Its text would fill logs.
    if (lineEnd - start > MAX_STATUS_BYTES)
      this.builder.failReply(new ReplyTooLongError(`${lineEnd - start} bytes`));
    return type === TypeByte.Error ? this.placeError(start, lineEnd) : this.placeString(start, lineEnd);
  }

  private placeError(start: number, stop: number): boolean {
    if (this.builder.isDropping) return this.builder.place(null);
    const message = decodeText(this.bytes, start, stop);
    return this.builder.place(withoutStack(() => new ReplyError(message)));
  }

  private readScalarLine(type: number): boolean {
    const lineEnd = this.findLineEnd();
    if (lineEnd < 0) return false;
    const text = decodeText(this.bytes, this.at + 1, lineEnd);
    const value = decodeScalar(type, text, this.builder.decoding);
    if (value === undefined) return this.fail(scalarFault(type));
    this.at = lineEnd + 2;
    return this.builder.place(value);
  }

  // --- common ----------------------------------------------------------------------------

  private has(bits: number): boolean {
    return (this.builder.decoding & bits) !== 0;
  }

  // --- lengths and line ends -------------------------------------------------------------

  /** The length between the type byte and CRLF; moves `cursor` past it, and also `at` if it is a null. */
  private readLength(limit: number): number {
    const { bytes, at } = this;
    const stop = Math.min(this.end, at + MAX_LENGTH_TOKEN);
    const isNegative = bytes[at + 1] === MINUS && at + 1 < stop;
    const first = isNegative ? at + 2 : at + 1;
    let length = 0;
    let i = first;
    for (; i < stop; i++) {
      const digit = (bytes[i] as number) - ZERO;
      if (digit >>> 0 > 9) break;
      length = length * 10 + digit;
    }
    if (i === stop) return stop === this.end ? NO_LENGTH : this.refuseLength(i);
    if (bytes[i] !== CR || i === first) return this.refuseLength(i);
    const mayBeNull = bytes[at] === TypeByte.Bulk || bytes[at] === TypeByte.List;
    if (isNegative && (!mayBeNull || length !== 1 || i > first + 1)) return this.refuseLength(at + 1);
    if (length > limit) return this.refuseLimit("length", length, limit);
    if (i + 1 >= this.end) return NO_LENGTH;
    if (bytes[i + 1] !== LF) return this.refuseLength(i + 1);
    this.cursor = i + 2;
    if (!isNegative) return length;
    this.at = this.cursor;
    return NULL_LENGTH;
  }

  /** The position of the CR that ends the current line, or -1 if it has not arrived or the line is invalid. */
  private findLineEnd(limit = MAX_LINE_BYTES): number {
    const { bytes, at } = this;
    const stop = Math.min(this.end, at + limit + 1);
    let i = at + 1 + this.searched;
    // Only control characters need a second check.
    for (; i < stop; i++) if ((bytes[i] as number) <= CR && (bytes[i] === CR || bytes[i] === LF)) break;
    if (i === stop && i - at > limit) return this.refuseLimit("line", i - at, limit);
    const isBare = i < this.end && bytes[i] === LF;
    if (i + 1 >= this.end && !isBare) {
      this.searched = i - at - 1;
      return -1;
    }
    this.searched = 0;
    if (!isBare && bytes[i + 1] === LF) return i;
    this.fail(isBare ? "LF without CR" : "CR without LF", i);
    return -1;
  }

  /** Ends the parser with an error about the byte at `place`, by default the current token. */
  private fail(what: string, place = this.at): false {
    return this.abandon(`Protocol error: ${what}, at byte ${this.input.origin + place} of the connection`);
  }

  private abandon(message: string): false {
    this.failure ??= new ParserError(message);
    this.isLive = false;
    return false;
  }

  private refuseLength(place: number): number {
    const { bytes, at } = this;
    const found = `0x${(bytes[place] as number).toString(16).padStart(2, "0")}`;
    this.fail(`bad length of "${String.fromCharCode(bytes[at] as number)}" (found ${found})`, place);
    return NO_LENGTH;
  }

  private refuseLimit(what: string, size: number, limit: number): number {
    this.fail(`${what} of ${size}, above the limit of ${limit}`, this.at);
    return NO_LENGTH;
  }
}
