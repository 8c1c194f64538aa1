/**
 * The characters of RESP and of numbers that the protocol compares as bytes; the types of replies are in type-byte.ts.
 * Hot loops take them into constants of their file, because an import is a function call where modules are not bundled.
 */

export const ASCII = {
  LF: 10,
  CR: 13,
  DOLLAR: 36,
  ASTERISK: 42,
  PLUS: 43,
  MINUS: 45,
  POINT: 46,
  ZERO: 48,
  ONE: 49,
  COLON: 58,
  QUESTION: 63,
  LOWER_E: 101,
  LOWER_F: 102,
  LOWER_T: 116,
} as const;
