/** Finds the runs of a batch: adjacent commands that one command can replace. */

import type { Command } from "../command/command";
import type { RetryPolicy } from "../command/command-extra";
import { sizeOf } from "../command/size";
import { LARGE_BYTES } from "../protocol/limits";
import type { Argument } from "../protocol/resp-types";
import { type Form, takes } from "./forms";

/**
 * The most members of a run; its arguments have at most `LARGE_BYTES`. The server is blocked while it runs a
 * command.
 */
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
  forms: ReadonlyMap<string, Form>,
  isFree: (command: Command) => boolean,
): Run[] {
  const runs: Run[] = [];
  for (let from = 0; from < commands.length; ) {
    const first = commands[from] as Command;
    const form = formOf(first, forms);
    let to = from + 1;
    if (form !== null && isFree(first)) {
      to = endOfRun(
        commands,
        from,
        (one) => formOf(one, forms) === form && isFree(one) && fits(one, first, form),
      );
      if (to - from > 1) runs.push({ form, from, to });
    }
    from = to;
  }
  return runs;
}

/** The form that the command may be a part of. */
function formOf({ spec, args }: Command, forms: ReadonlyMap<string, Form>): Form | null {
  const form = forms.get(spec.lowerName);
  return form !== undefined && takes(form, args.length) ? form : null;
}

function fits(command: Command, first: Command, { isOneKey }: Form): boolean {
  const isBeside = isOneKey
    ? isSame(command.args[0] as Argument, first.args[0] as Argument)
    : command.slot === first.slot;
  return isBeside && policyOf(command) === policyOf(first);
}

function endOfRun(
  commands: readonly Command[],
  from: number,
  continues: (command: Command) => boolean,
): number {
  const most = Math.min(commands.length, from + MOST_MEMBERS);
  let bytes = sizeOf(commands[from] as Command);
  let to = from + 1;
  for (; to < most; to++) {
    const command = commands[to] as Command;
    if (!continues(command)) break;
    bytes += sizeOf(command);
    if (bytes > LARGE_BYTES) break;
  }
  return to;
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
