/**
 * Command categories of the access control list, from a command's group and flags.
 */

import { Flag } from "./flags";

/** The fields of a command that the access control list looks at. */
export interface AclSubject {
  readonly name: string;
  readonly flags: number;
  readonly group: string;
}

const BY_GROUP: Readonly<Record<string, string>> = {
  "sorted-set": "sortedset",
  transactions: "transaction",
  string: "string",
  hash: "hash",
  list: "list",
  set: "set",
  stream: "stream",
  hyperloglog: "hyperloglog",
  bitmap: "bitmap",
  geo: "geo",
  connection: "connection",
  scripting: "scripting",
  generic: "keyspace",
  pubsub: "pubsub",
};

const CATEGORIES: readonly string[] = [
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

/** Commands that can harm a server or its data beyond one key, besides those of administrators. */
const DANGEROUS: ReadonlySet<string> = new Set([
  "flushall",
  "flushdb",
  "keys",
  "info",
  "sort",
  "sort_ro",
  "swapdb",
  "restore",
  "restore-asking",
  "migrate",
  "role",
  "client|kill",
  "client|list",
  "pfselftest",
  "lolwut",
]);
const KEYSPACE: ReadonlySet<string> = new Set(["flushall", "flushdb", "dbsize", "swapdb"]);

export function isCategory(name: string): boolean {
  return name === "all" || CATEGORIES.includes(name);
}

export function categoryNames(): readonly string[] {
  return CATEGORIES;
}

export function isIn(entry: AclSubject, category: string): boolean {
  const { flags, group, name } = entry;
  switch (category) {
    case "all":
      return true;
    case "read":
      return (flags & Flag.Readonly) !== 0;
    case "write":
      return (flags & Flag.Write) !== 0;
    case "fast":
      return (flags & Flag.Fast) !== 0;
    case "slow":
      return (flags & Flag.Fast) === 0;
    case "admin":
      return (flags & Flag.Admin) !== 0;
    case "blocking":
      return (flags & Flag.Blocking) !== 0;
    case "dangerous":
      return (flags & Flag.Admin) !== 0 || DANGEROUS.has(name);
    case "keyspace":
      return BY_GROUP[group] === "keyspace" || KEYSPACE.has(name);
    default:
      return BY_GROUP[group] === category;
  }
}
