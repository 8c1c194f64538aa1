/** The values of RESP3 that are one line: null, boolean, double, big number. */

import { doubleOf, isDouble, isInteger } from "./numbers";
import { Decode, type Reply } from "./resp-types";
import { TypeByte } from "./type-byte";

/** The value of the text after the type byte, or undefined if it is invalid. */
export function decodeScalar(type: number, text: string, decoding: number): Reply | undefined {
  switch (type) {
    case TypeByte.Null:
      return text === "" ? null : undefined;
    case TypeByte.Boolean: {
      if (text !== "t" && text !== "f") return undefined;
      return (decoding & Decode.Resp3Shapes) === 0 ? Number(text === "t") : text === "t";
    }
    case TypeByte.Double:
      return isDouble(text) ? decodeDouble(text, decoding) : undefined;
    default:
      if (!isInteger(text)) return undefined;
      return (decoding & Decode.BigInts) === 0 ? text : BigInt(text);
  }
}

/** The error in an invalid line of this type. */
export function scalarFault(type: number): string {
  if (type === TypeByte.Null) return "a null with a value";
  if (type === TypeByte.Boolean) return "a boolean that is neither t nor f";
  return type === TypeByte.Double ? "a double that is not a number" : "a big number that is not a number";
}

function decodeDouble(text: string, decoding: number): Reply {
  if ((decoding & Decode.StringNumbers) !== 0) return text;
  if ((decoding & Decode.Resp3Shapes) !== 0) return doubleOf(text);
  return (decoding & Decode.Buffers) === 0 ? text : Buffer.from(text);
}
