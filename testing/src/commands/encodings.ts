/**
 * How a server would hold a value (OBJECT ENCODING), by its size and the configured limits.
 */

import type { Entry } from "../keyspace/entry";
import { ListValue } from "../keyspace/list-value";
import { SortedSetValue } from "../keyspace/sorted-set-value";
import { HashValue, isIntegerMember, SetValue } from "../keyspace/values";
import { parseInteger } from "../protocol/numbers";
import type { ServerEngine } from "../server/model";

const EMBEDDED_BYTES = 44;
const SHARED_INTEGERS = 10_000;
const LISTPACK_BYTES = 8 * 1024;
const LISTPACK_OVERHEAD = 7;

/** Kilobytes by `list-max-listpack-size` -1 to -5, else a number of elements. */
function fitsListpack(list: ListValue, limit: number): boolean {
  if (limit > 0) return list.size <= limit;
  const bytes = (LISTPACK_BYTES / 2) * 2 ** (-limit - 1);
  let total = LISTPACK_OVERHEAD;
  for (let index = 0; index < list.size; index++) {
    total += (list.at(index) as string).length + 2;
    if (total > bytes) return false;
  }
  return true;
}

export function encodingOf({ value, form }: Entry, engine: ServerEngine): string {
  if (typeof value === "string") {
    if (form === "raw") return "raw";
    if (form !== "text" && value.length <= 20 && parseInteger(value) !== null) return "int";
    return value.length <= EMBEDDED_BYTES ? "embstr" : "raw";
  }
  if (value instanceof HashValue)
    return value.isBig ? "hashtable" : value.expiries ? "listpackex" : "listpack";
  if (value instanceof SetValue) return value.encoding;
  if (value instanceof SortedSetValue) return value.isBig ? "skiplist" : "listpack";
  if (value instanceof ListValue) {
    if (!engine.version.isModern) return "quicklist";
    return fitsListpack(value, engine.configuration.number("list-max-listpack-size"))
      ? "listpack"
      : "quicklist";
  }
  return "stream";
}

/** Small integers are shared objects. */
export function referenceCount({ value, form }: Entry, { version }: ServerEngine): number {
  if (version.isModern) return 1;
  if (typeof value !== "string" || form !== "plain") return 1;
  const number = parseInteger(value);
  return typeof number === "number" && number >= 0 && number < SHARED_INTEGERS ? 2 ** 31 - 1 : 1;
}

/** Notes that a hash has outgrown its small form. */
export function growHash(hash: HashValue, field: string, value: string, engine: ServerEngine): void {
  if (hash.isBig) return;
  const limit = engine.configuration.number("hash-max-listpack-value");
  const entries = engine.configuration.number("hash-max-listpack-entries");
  if (field.length > limit || value.length > limit || hash.size > entries) hash.isBig = true;
}

/** Updates the encoding of a set for a new member. */
export function growSet(set: SetValue, member: string, engine: ServerEngine): void {
  const { configuration, version } = engine;
  if (set.encoding === "hashtable") return;
  if (set.encoding === "intset") {
    if (isIntegerMember(member) && set.size <= configuration.number("set-max-intset-entries")) return;
    set.encoding = version.isModern ? "listpack" : "hashtable";
    if (version.isModern) reorder(set, member);
  }
  if (set.encoding !== "listpack") return;
  const isTooLong = member.length > configuration.number("set-max-listpack-value");
  if (isTooLong || set.size > configuration.number("set-max-listpack-entries")) set.encoding = "hashtable";
}

/** The members of a former intset keep their order; the new member follows. */
function reorder(set: SetValue, last: string): void {
  const members = [...set.members].filter((member) => member !== last);
  if (members.length < 2) return;
  members.sort((a, b) => Number(BigInt(a) - BigInt(b)));
  set.members.clear();
  for (const member of members) set.members.add(member);
  set.members.add(last);
}

export function growSortedSet(zset: SortedSetValue, member: string, engine: ServerEngine): void {
  if (zset.isBig) return;
  const { configuration } = engine;
  const isTooLong = member.length > configuration.number("zset-max-listpack-value");
  if (isTooLong || zset.size > configuration.number("zset-max-listpack-entries")) zset.isBig = true;
}
