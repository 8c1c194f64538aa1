/**
 * Finds the end of lines and the value of lengths in the bytes that have arrived, strictly.
 * Decides about bytes only; what a token means is up to the parser. A token is read again from
 * its type byte when more has arrived, so nothing here keeps half of one, except how far a long
 * line has been searched.
 */

import { ParserError } from "../errors";
import { InputBuffer } from "./input-buffer";
import { MAX_LINE_BYTES } from "./limits";

const CR = 13;
const LF = 10;
const MINUS = 45;
const ZERO = 48;
const ONE = 49;
const QUESTION = 63;

/** Type byte, ten digits of the largest length, and one to notice that there are more. */
const MAX_LENGTH_TOKEN = 12;

/** Unfinished lines from here on are not searched again from their beginning. */
const REMEMBERED_FROM_BYTES = 256;

/** Results of `readLength` that are no length. */
export const NULL_LENGTH = -1;
/** Not all there yet, or not a length at all (then the scanner has failed). */
export const NO_LENGTH = -2;
/** `?`: chunks or elements follow until a terminator. */
export const STREAMED_LENGTH = -3;

export abstract class TokenScanner {
  protected readonly input = new InputBuffer();
  protected bytes: Buffer = this.input.bytes;
  /** Type byte of the present token. */
  protected at = 0;
  /** Behind the last byte that has arrived. */
  protected end = 0;
  /** Behind the line that `readLength` has read. */
  protected cursor = 0;
  /** False once stopped or failed; nothing is read any more. */
  protected isLive = true;
  protected failure: ParserError | null = null;
  /** Bytes of the present line that are known to hold no end of it. */
  private searched = 0;

  /** The length between the type byte and CRLF; moves `cursor` behind it. */
  protected readLength(limit: number): number {
    const { bytes, at } = this;
    const stop = Math.min(this.end, at + MAX_LENGTH_TOKEN);
    let length = 0;
    let i = at + 1;
    for (; i < stop; i++) {
      const digit = (bytes[i] as number) - ZERO;
      if (digit >>> 0 > 9) break;
      length = length * 10 + digit;
    }
    if (i === stop) return stop === this.end ? NO_LENGTH : this.refuseLength(i);
    if (bytes[i] !== CR || i === at + 1) return this.readOddLength(i);
    if (length > limit) return this.refuseLimit("length", length, limit);
    return this.endLength(i, length);
  }

  /** Place of the CR that ends the present line, or -1 when it has not arrived or the line is bad. */
  protected findLineEnd(limit = MAX_LINE_BYTES): number {
    const { bytes, at } = this;
    const stop = Math.min(this.end, at + limit + 1);
    let i = at + 1 + this.searched;
    // Only control characters need a second look.
    for (; i < stop; i++) if ((bytes[i] as number) <= CR && (bytes[i] === CR || bytes[i] === LF)) break;
    if (i === stop && i - at > limit) return this.refuseLimit("line", i - at, limit);
    const isBare = i < this.end && bytes[i] === LF;
    if (i + 1 >= this.end && !isBare) {
      this.searched = i - at > REMEMBERED_FROM_BYTES ? i - at - 1 : 0;
      return -1;
    }
    this.searched = 0;
    if (!isBare && bytes[i + 1] === LF) return i;
    this.fail(isBare ? "LF without CR" : "CR without LF", i);
    return -1;
  }

  /** Moves behind the present line without keeping it. False while its end has not arrived. */
  protected skipLine(): boolean {
    const { bytes, end } = this;
    this.searched = 0;
    let i = this.at;
    for (; i < end; i++) if (bytes[i] === CR || bytes[i] === LF) break;
    this.at = i;
    if (i === end || (bytes[i] === CR && i + 1 === end)) return false;
    if (!this.hasLineEndAt(i)) return false;
    this.at = i + 2;
    return true;
  }

  /** True if CRLF stands at `place`, of which both bytes have arrived. */
  protected hasLineEndAt(place: number): boolean {
    if (this.bytes[place] === CR && this.bytes[place + 1] === LF) return true;
    this.fail("no CRLF behind the value", place);
    return false;
  }

  /** Ends the life of the scanner with an error about the byte at `place`. */
  protected fail(what: string, place: number): void {
    this.abandon(`Protocol error: ${what}, at byte ${this.input.origin + place} of the connection`);
  }

  protected abandon(message: string): void {
    this.failure ??= new ParserError(message);
    this.isLive = false;
  }

  /** `-1`, `?`, or no length at all. `place` is where digits ended. */
  private readOddLength(place: number): number {
    const { bytes, at, end } = this;
    if (place > at + 1) return this.refuseLength(place);
    if (bytes[place] === QUESTION) return this.endLength(place + 1, STREAMED_LENGTH);
    if (bytes[place] !== MINUS) return this.refuseLength(place);
    if (place + 1 === end) return NO_LENGTH;
    if (bytes[place + 1] !== ONE) return this.refuseLength(place);
    return this.endLength(place + 2, NULL_LENGTH);
  }

  private endLength(place: number, length: number): number {
    const { bytes, end } = this;
    if (place < end && bytes[place] !== CR) return this.refuseLength(place);
    if (place + 1 >= end) return NO_LENGTH;
    if (bytes[place + 1] !== LF) return this.refuseLength(place + 1);
    this.cursor = place + 2;
    return length;
  }

  private refuseLength(place: number): number {
    const { bytes, at } = this;
    const found = `0x${(bytes[place] as number).toString(16).padStart(2, "0")}`;
    this.fail(`bad length of "${String.fromCharCode(bytes[at] as number)}" (found ${found})`, place);
    return NO_LENGTH;
  }

  private refuseLimit(what: string, size: number, limit: number): number {
    this.fail(`${what} of ${size} where ${limit} is the limit`, this.at);
    return NO_LENGTH;
  }
}
