/**
 * Defines the forms that combine several commands, and how the reply to a form is divided among its commands. A
 * form is exact if each command gets the same reply as it would alone.
 *
 *   hget k a     hget k b        ->  hmget k a b         each has its element of the reply
 *   get a        get b           ->  mget a b            the same; but nil for WRONGTYPE
 *   set a 1      set b 2         ->  mset a 1 b 2        each gets OK
 *   rpush k a    rpush k b c     ->  rpush k a b c       length, less the later elements
 *
 * HSET, SADD and ZADD are missing: their reply is one sum, which cannot be divided.
 */

import type { Command } from "../command/command";
import { CommandFlag, type CommandSpec, withoutMappers } from "../command/command-spec";
import { specOf } from "../command/command-table";

export type ReplyKind =
  /** An array with an element for each member. */
  | "elements"
  /** One reply that is correct for all. */
  | "same"
  /** The length of the list after the last member. */
  | "length";

export interface Form {
  /** The command that is sent, without users' transformers, which apply only to the members. */
  readonly spec: CommandSpec;
  /** The lower-case name of the commands that it replaces. */
  readonly single: string;
  /** All members have the same first argument, which is sent once. */
  readonly isOneKey: boolean;
  readonly isWrite: boolean;
  readonly replies: ReplyKind;
  /** The least number of arguments of a member, and the step by which it may have more (0: none). */
  readonly least: number;
  readonly step: number;
}

function form(
  single: string,
  several: string,
  shape: Pick<Form, "replies" | "least"> & { step?: number },
): Form {
  const spec = withoutMappers(specOf(several));
  return {
    spec,
    single,
    isOneKey: several !== "mget" && several !== "mset",
    isWrite: (spec.flags & CommandFlag.Readonly) === 0,
    step: 0,
    ...shape,
  };
}

/** By the name of the single commands. */
export const FORMS: ReadonlyMap<string, Form> = new Map(
  [
    form("hget", "hmget", { replies: "elements", least: 2 }),
    form("sismember", "smismember", { replies: "elements", least: 2 }),
    form("zscore", "zmscore", { replies: "elements", least: 2 }),
    form("get", "mget", { replies: "elements", least: 1 }),
    form("set", "mset", { replies: "same", least: 2 }),
    form("hmset", "hmset", { replies: "same", least: 3, step: 2 }),
    form("rpush", "rpush", { replies: "length", least: 2, step: 1 }),
    form("lpush", "lpush", { replies: "length", least: 2, step: 1 }),
  ].map((one) => [one.single, one]),
);

/** The form that the command may be a part of. */
export function formOf({ spec, args }: Command, merged: readonly string[]): Form | null {
  const form = FORMS.get(spec.lowerName);
  if (form === undefined || !merged.includes(form.single)) return null;
  const { least, step } = form;
  const more = args.length - least;
  return more === 0 || (step > 0 && more > 0 && more % step === 0) ? form : null;
}
