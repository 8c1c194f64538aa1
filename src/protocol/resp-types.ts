/**
 * The types of arguments and replies, and the flags that determine how a reply is decoded. Independent of
 * sockets and commands.
 */

/** A value that is sent as one bulk string. All other values are converted into it first. */
export type Argument = string | Buffer;

/** A decoded reply, as the flags below demand. An error inside an aggregate is an ordinary element. */
export type Reply = unknown;

/**
 * How one reply is decoded: a sum of these bits, which the sink returns before each reply. Legacy shapes (no
 * `Resp3Shapes`): map = flat array, boolean = 1/0, double = the text as sent.
 */
export const Decode = {
  /** No UTF-8 decoding: every string becomes a separate Buffer. */
  Buffers: 1,
  /** Integers (and doubles with `Resp3Shapes`) arrive as strings. */
  StringNumbers: 2,
  /** Maps become objects, booleans true/false, doubles numbers. */
  Resp3Shapes: 4,
  /** An array may be a message of pub/sub. */
  Messages: 8,
  /** Integers and big numbers become bigints. */
  BigInts: 16,
  /** Maps become plain objects. */
  Objects: 32,
  /** Maps become instances of `Map`. */
  Maps: 64,
} as const;
