/** HELP of every command with subcommands: the supported ones and the unsupported ones. */

import { type ReplyValue, Status } from "../protocol/reply";
import type { Caller } from "../server/model";
import { at } from "./arguments";

export function help({ engine }: Caller, args: readonly string[]): ReplyValue {
  const parent = engine.commands.get(at(args, 0).toLowerCase());
  const lines = [`${at(args, 0).toUpperCase()} takes one of these words:`];
  for (const [name, { run, arity }] of parent?.subcommands ?? []) {
    const words = Math.abs(arity) - 2;
    const needs = `${arity < 0 ? "at least " : ""}${words} argument${words === 1 ? "" : "s"}`;
    lines.push(name.toUpperCase(), `    ${run === null ? "Not supported by TestServer" : `Takes ${needs}`}.`);
  }
  return lines.map((line) => new Status(line));
}
