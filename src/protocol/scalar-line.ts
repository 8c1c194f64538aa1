/**
 * The values of RESP3 that are one line: null, boolean, double, big number. They are checked first and then
 * decoded; the type byte is before `start`, the CRLF at `end`.
 */

import { ASCII } from "./ascii";
import { copyBytes } from "./copy-bytes";
import { decodeText } from "./decode-value";
import { doubleOf, isDouble, isInteger } from "./numbers";
import { Decode, type Reply } from "./resp-types";
import { TypeByte } from "./type-byte";

const { LOWER_F, LOWER_T } = ASCII;

/** The error in the line, or null. */
export function scalarFault(bytes: Buffer, start: number, end: number): string | null {
  switch (bytes[start - 1]) {
    case TypeByte.Null:
      return end === start ? null : "a null with a value";
    case TypeByte.Boolean:
      if (end === start + 1 && (bytes[start] === LOWER_T || bytes[start] === LOWER_F)) return null;
      return "a boolean that is neither t nor f";
    case TypeByte.Double:
      return isDouble(bytes, start, end) ? null : "a double that is not a number";
    default:
      return isInteger(bytes, start, end) ? null : "a big number that is not a number";
  }
}

/** The value of a valid line. */
export function decodeScalar(bytes: Buffer, start: number, end: number, decoding: number): Reply {
  switch (bytes[start - 1]) {
    case TypeByte.Null:
      return null;
    case TypeByte.Boolean: {
      const isTrue = bytes[start] === LOWER_T;
      if ((decoding & Decode.Resp3Shapes) !== 0) return isTrue;
      return isTrue ? 1 : 0;
    }
    case TypeByte.Double:
      return decodeDouble(bytes, start, end, decoding);
    default:
      return decodeInteger(bytes, start, end, decoding);
  }
}

/** A big number, or an integer that does not become a number. */
export function decodeInteger(bytes: Buffer, start: number, end: number, decoding: number): string | bigint {
  const text = decodeText(bytes, start, end, true);
  return (decoding & Decode.BigInts) === 0 ? text : BigInt(text);
}

function decodeDouble(bytes: Buffer, start: number, end: number, decoding: number): Reply {
  if ((decoding & Decode.StringNumbers) === 0) {
    if ((decoding & Decode.Resp3Shapes) !== 0) return doubleOf(decodeText(bytes, start, end, true));
    if ((decoding & Decode.Buffers) !== 0) return copyBytes(bytes, start, end);
  }
  return decodeText(bytes, start, end, true);
}
