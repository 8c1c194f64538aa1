/**
 * The kinds of values a key can hold. A string is its bytes; containers can be cloned, because a
 * snapshot shares them until they are written.
 */

import type { ListValue } from "./list-value";
import type { SortedSetValue } from "./sorted-set-value";
import type { StreamValue } from "./stream-value";

const INTEGER = /^(?:0|-?[1-9]\d{0,17})$/;

export class HashValue {
  readonly type = "hash";

  constructor(
    readonly fields: Map<string, string> = new Map(),
    /** When fields expire, in milliseconds of the server's clock. */
    public expiries: Map<string, number> | null = null,
    public isBig = false,
  ) {}

  get size(): number {
    return this.fields.size;
  }

  clone(): HashValue {
    const expiries = this.expiries === null ? null : new Map(this.expiries);
    return new HashValue(new Map(this.fields), expiries, this.isBig);
  }

  delete(field: string): boolean {
    this.expiries?.delete(field);
    return this.fields.delete(field);
  }
}

export type SetEncoding = "intset" | "listpack" | "hashtable";

export class SetValue {
  readonly type = "set";

  constructor(
    readonly members: Set<string> = new Set(),
    public encoding: SetEncoding = "intset",
  ) {}

  get size(): number {
    return this.members.size;
  }

  clone(): SetValue {
    return new SetValue(new Set(this.members), this.encoding);
  }

  /** In the order in which servers keep small sets: numbers by value, others as they were added. */
  list(): string[] {
    const members = [...this.members];
    if (this.encoding !== "intset") return members;
    return members.sort((a, b) => (a.length < 16 && b.length < 16 ? Number(a) - Number(b) : bigOrder(a, b)));
  }
}

function bigOrder(a: string, b: string): number {
  const [left, right] = [BigInt(a), BigInt(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Whether an intset can hold it. */
export function isIntegerMember(member: string): boolean {
  return INTEGER.test(member);
}

export type Container = HashValue | ListValue | SetValue | SortedSetValue | StreamValue;
export type Value = string | Container;
export type ValueType = "string" | Container["type"];

export function typeOf(value: Value): ValueType {
  return typeof value === "string" ? "string" : value.type;
}
