/** The value of a key in a database, and its time to live. */

import type { Value } from "./values";

export interface Entry {
  value: Value;
  /** Milliseconds of the server's clock; 0 for never. */
  expireAt: number;
  /** Of the database when this entry was made; an older one is shared with a snapshot. */
  readonly epoch: number;
  /** When it was last read or written; for OBJECT IDLETIME. */
  usedAt: number;
  readonly form: StringForm;
}

/**
 * How a server holds a string: as it finds best, so as well but shared with no other key (COPY), as text although it
 * may be a number (INCRBYFLOAT), or as text that may grow (APPEND, SETRANGE). Only OBJECT tells.
 */
export type StringForm = "plain" | "unshared" | "text" | "raw";
