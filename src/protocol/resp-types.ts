/**
 * The values that travel through this folder, and the switches that
 * decide how a reply is decoded. Nothing here knows a socket or a command.
 */

import type { ReplyError } from "../errors";

/** A value that goes on the wire as one bulk string. Everything else is turned into one of these first. */
export type Argument = string | Buffer;

/**
 * A decoded reply. Integers are numbers (strings with `StringNumbers`), doubles and big numbers
 * follow the flags below, an error inside an aggregate is an element like any other.
 */
export type Reply = unknown;

/**
 * How one reply is decoded: a sum of these bits, given by the sink before each reply.
 * Legacy shapes (no `Resp3Shapes`): map = flat array, boolean = 1/0, double = the text as sent.
 */
export const Decode = {
  /** Strings and UTF-8 decoding: off. Every string is handed over as a Buffer of its own. */
  Buffers: 1,
  /** Integers (and doubles with `Resp3Shapes`) arrive as strings. */
  StringNumbers: 2,
  /** Maps become objects, booleans true/false, doubles numbers. */
  Resp3Shapes: 4,
  /** An array may be a message of pub/sub. */
  Messages: 8,
} as const;

export type { ReplyError };
