/**
 * The values of RESP3 that are one line: null, boolean, double, big number. The
 * type byte is before `start`, the CRLF at `end`.
 */

import { ASCII } from "./ascii";
import { copyBytes } from "./copy-bytes";
import { decodeText } from "./decode-value";
import { doubleOf, isDouble, isInteger } from "./numbers";
import { Decode, type Reply } from "./resp-types";
import { TypeByte } from "./type-byte";

const { LOWER_F, LOWER_T } = ASCII;

/** The value of the line, or undefined if it is invalid. */
export function decodeScalar(bytes: Buffer, start: number, end: number, decoding: number): Reply | undefined {
  switch (bytes[start - 1]) {
    case TypeByte.Null:
      return end === start ? null : undefined;
    case TypeByte.Boolean: {
      const isTrue = bytes[start] === LOWER_T;
      if (end !== start + 1 || !(isTrue || bytes[start] === LOWER_F)) return undefined;
      if ((decoding & Decode.Resp3Shapes) !== 0) return isTrue;
      return isTrue ? 1 : 0;
    }
    case TypeByte.Double:
      return isDouble(bytes, start, end) ? decodeDouble(bytes, start, end, decoding) : undefined;
    default:
      return isInteger(bytes, start, end) ? decodeInteger(bytes, start, end, decoding) : undefined;
  }
}

/** The error in an invalid line of this type. */
export function scalarFault(type: number | undefined): string {
  if (type === TypeByte.Null) return "a null with a value";
  if (type === TypeByte.Boolean) return "a boolean that is neither t nor f";
  return type === TypeByte.Double ? "a double that is not a number" : "a big number that is not a number";
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
