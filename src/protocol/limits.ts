/**
 * The bounds of what is accepted from the wire and of what is kept for reuse. Breaking one of the
 * first group is a `ParserError`: nothing is allocated for a size that was only announced.
 */

import { constants } from "node:buffer";

/** Longest line of a number or another short value: type byte and text without CRLF. */
export const MAX_LINE_BYTES = 64 * 1024;
/** Longest line of a text: errors and statuses of scripts and modules have any length. A longer one fails its own command. */
export const MAX_TEXT_LINE_BYTES = 16 * 1024 * 1024;
/** Deepest nesting of aggregates. */
export const MAX_DEPTH = 1024;
/** Most elements of one aggregate; a map counts keys and values. */
export const MAX_ELEMENTS = 2 ** 31 - 1;
/**
 * Longest bulk string: what a Buffer can hold. DUMP gives more than the 512 MiB of `proto-max-bulk-len`, which also
 * may be raised.
 */
export const MAX_BULK_BYTES = Math.min(constants.MAX_LENGTH, 2 ** 32 - 1);
/** More digits than any 64-bit integer has. */
export const MAX_INTEGER_DIGITS = 20;
/** A text of more bytes than this cannot become a string of the engine; it fails its own command. */
export const MAX_TEXT_BYTES = constants.MAX_STRING_LENGTH;

/** Array slots that one reply may have allocated before their elements arrive (512 KiB). */
export const MAX_PREALLOCATED_SLOTS = 64 * 1024;
