/**
 * The bounds of what is accepted from the wire and of what is kept for reuse. Breaking one of the
 * first group is a `ParserError`: nothing is allocated for a size that was only announced.
 */

import { constants } from "node:buffer";

/** Longest line: type byte and text without CRLF (simple strings, errors, numbers). */
export const MAX_LINE_BYTES = 64 * 1024;
/** Deepest nesting of aggregates. */
export const MAX_DEPTH = 1024;
/** Most elements of one aggregate; a map counts keys and values. */
export const MAX_ELEMENTS = 2 ** 31 - 1;
/** Longest bulk string; `proto-max-bulk-len` of a server has the same default. */
export const MAX_BULK_BYTES = 512 * 1024 * 1024;
/** More digits than any 64-bit integer has. */
export const MAX_INTEGER_DIGITS = 20;
/** A text of more bytes than this cannot become a string of the engine; it fails its own command. */
export const MAX_TEXT_BYTES = constants.MAX_STRING_LENGTH;

/** Array slots that one reply may have allocated before their elements arrive (512 KiB). */
export const MAX_PREALLOCATED_SLOTS = 64 * 1024;
