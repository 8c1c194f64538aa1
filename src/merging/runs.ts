/** Finds the runs of a batch: adjacent commands that one command can replace. */

import type { Command } from "../command/command";
import type { RetryPolicy } from "../command/command-extra";
import { sizeOf } from "../command/size";
import { LARGE_BYTES } from "../protocol/limits";
import type { Argument } from "../protocol/resp-types";
import { type Form, formOf } from "./forms";

/** The most members of a run, whose arguments have at most `LARGE_BYTES`: the server is blocked while it runs. */
const MOST_MEMBERS = 128;

/** Commands `from` to `to - 1`, which one command of the form can replace. */
export interface Run {
  readonly form: Form;
  readonly from: number;
  readonly to: number;
}

/** All runs of two and more commands, in order. */
export function findRuns(
  commands: readonly Command[],
  merged: readonly string[],
  isFree: (command: Command) => boolean,
): Run[] {
  const runs: Run[] = [];
  let form: Form | null = null;
  let from = 0;
  let bytes = 0;
  const end = (to: number): void => {
    if (form !== null && to - from > 1) runs.push({ form, from, to });
  };
  for (const [at, command] of commands.entries()) {
    const own = isFree(command) ? formOf(command, merged) : null;
    const size = own === null ? 0 : sizeOf(command);
    const hasRoom = at - from < MOST_MEMBERS && bytes + size <= LARGE_BYTES;
    if (own !== null && own === form && hasRoom && fits(command, commands[from] as Command, form))
      bytes += size;
    else {
      end(at);
      [form, from, bytes] = [own, at, size];
    }
  }
  end(commands.length);
  return runs;
}

function fits(command: Command, first: Command, { isOneKey }: Form): boolean {
  const isBeside = isOneKey
    ? isSame(command.args[0] as Argument, first.args[0] as Argument)
    : command.slot === first.slot;
  return isBeside && policyOf(command) === policyOf(first);
}

/** Its own retry policy; null: that of its link. */
export function policyOf({ extra }: Command): RetryPolicy | null {
  return extra === null ? null : extra.retryPolicy;
}

export function isSame(one: Argument, other: Argument): boolean {
  if (typeof one === "string" && typeof other === "string") return one === other;
  if (typeof one === "string") return (other as Buffer).equals(Buffer.from(one));
  return one.equals(typeof other === "string" ? Buffer.from(other) : other);
}
