/**
 * Limits for input from the wire, and sizes for memory management. Exceeding a limit of the first group is a
 * `ParserError` unless its comment says otherwise.
 */

import { constants } from "node:buffer";

/** The longest line of a number or another short value: type byte and text without CRLF. */
export const MAX_LINE_BYTES = 64 * 1024;
/** The deepest nesting of aggregates. */
export const MAX_DEPTH = 1024;
/** The most elements of one aggregate; a map counts keys and values. */
export const MAX_ELEMENTS = 2 ** 31 - 1;
/** The longest bulk string: the size limit of a Buffer. DUMP can return more than `proto-max-bulk-len`. */
export const MAX_BULK_BYTES = Math.min(constants.MAX_LENGTH, 2 ** 32 - 1);
/** More digits than any 64-bit integer has. */
export const MAX_INTEGER_DIGITS = 20;
/** The longest simple string or simple error; a longer one fails its own command. */
export const MAX_STATUS_BYTES = 16 * 1024 * 1024;
/** The longest string of the engine in bytes; a longer text in a bulk string fails its own command. */
export const MAX_TEXT_BYTES = constants.MAX_STRING_LENGTH;

/**
 * Values of at least this size are handled separately. A flush of up to this size is one segment. One read of
 * a large value is at most this large, because larger reads cost more CPU and delay the sender.
 */
export const LARGE_BYTES = 64 * 1024;
/** Array slots that one reply may preallocate before its elements arrive (512 KiB). */
export const MAX_PREALLOCATED_SLOTS = 64 * 1024;
