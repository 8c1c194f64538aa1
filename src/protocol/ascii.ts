/**
 * The characters of RESP and of numbers that the protocol compares as bytes; the types of replies are in
 * type-byte.ts. Hot loops copy them into constants of their own file, because access to an import is a
 * function call where modules are not bundled.
 */

export const ASCII = {
  LF: 10,
  CR: 13,
  DOLLAR: 36,
  ASTERISK: 42,
  MINUS: 45,
  ZERO: 48,
  COLON: 58,
  OPENING_BRACE: 123,
  LAST: 127,
} as const;
