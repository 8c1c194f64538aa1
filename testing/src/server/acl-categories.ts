/**
 * Command categories of the access control list. The command table has a bit for each.
 */

/** The fields of a command that the access control list looks at. */
export interface AclSubject {
  readonly name: string;
  readonly flags: number;
  /** Sum of bits, by the places in `CATEGORIES`. */
  readonly categories: number;
}

/** In the order of ACL CAT. */
export const CATEGORIES: readonly string[] = [
  "keyspace",
  "read",
  "write",
  "set",
  "sortedset",
  "list",
  "hash",
  "string",
  "bitmap",
  "hyperloglog",
  "geo",
  "stream",
  "pubsub",
  "admin",
  "fast",
  "slow",
  "blocking",
  "dangerous",
  "connection",
  "transaction",
  "scripting",
];

export function isCategory(name: string): boolean {
  return name === "all" || CATEGORIES.includes(name);
}

export function isIn(entry: AclSubject, category: string): boolean {
  return category === "all" || (entry.categories & (1 << CATEGORIES.indexOf(category))) !== 0;
}
