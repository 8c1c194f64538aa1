/** A batch in a form that can be searched for runs. */

import type { Command } from "../command/command";
import type { RetryPolicy } from "../command/command-extra";
import type { Argument, CommandSpec } from "../command/command-spec";
import { sizeOf } from "../command/size";
import { LARGE_BYTES } from "../protocol/limits";
import { type Form, takes } from "./forms";

/**
 * The most members of a run; its arguments have at most `LARGE_BYTES`. The server is blocked while it runs a
 * command.
 */
const MOST_MEMBERS = 128;

/** Rows `from` to `to - 1`, which one command of the form can replace. */
export interface Run {
  readonly form: Form;
  readonly from: number;
  readonly to: number;
}

export class CommandList {
  constructor(
    private readonly commands: readonly Command[],
    private readonly test: (command: Command) => boolean,
  ) {}

  get length(): number {
    return this.commands.length;
  }

  specAt(row: number): CommandSpec {
    return (this.commands[row] as Command).spec;
  }

  argsAt(row: number): number {
    return (this.commands[row] as Command).args.length;
  }

  arg(row: number, index: number): Argument {
    return (this.commands[row] as Command).args[index] as Argument;
  }

  bytesAt(row: number): number {
    return sizeOf(this.commands[row] as Command);
  }

  isFree(row: number): boolean {
    return this.test(this.commands[row] as Command);
  }

  slotAt(row: number): number {
    return (this.commands[row] as Command).slot;
  }

  policyAt(row: number): RetryPolicy | null {
    return policyOf(this.commands[row] as Command);
  }
}

/** All runs of two and more adjacent rows, in order. */
export function findRuns(rows: CommandList, forms: ReadonlyMap<string, Form>): Run[] {
  const runs: Run[] = [];
  const finder = new RunFinder(rows, forms);
  for (let from = 0; from < rows.length; ) {
    const form = finder.formAt(from);
    const to = form === null ? from + 1 : finder.endOf(form, from);
    if (form !== null && to - from > 1) runs.push({ form, from, to });
    from = to;
  }
  return runs;
}

class RunFinder {
  private spec: CommandSpec | null = null;
  private specForm: Form | null = null;

  constructor(
    private readonly rows: CommandList,
    private readonly forms: ReadonlyMap<string, Form>,
  ) {}

  /** The form that may include the row. */
  formAt(row: number): Form | null {
    const { rows } = this;
    const spec = rows.specAt(row);
    if (spec !== this.spec) {
      this.spec = spec;
      this.specForm = this.forms.get(spec.lowerName) ?? null;
    }
    const form = this.specForm;
    return form !== null && takes(form, rows.argsAt(row)) && rows.isFree(row) ? form : null;
  }

  endOf(form: Form, from: number): number {
    const { rows } = this;
    const key = rows.arg(from, 0);
    const slot = rows.slotAt(from);
    const policy = rows.policyAt(from);
    const most = Math.min(rows.length, from + MOST_MEMBERS);
    let bytes = rows.bytesAt(from);
    let to = from + 1;
    for (; to < most && this.formAt(to) === form; to++) {
      if (form.isOneKey ? !isSame(rows.arg(to, 0), key) : rows.slotAt(to) !== slot) break;
      if (rows.policyAt(to) !== policy) break;
      bytes += rows.bytesAt(to);
      if (bytes > LARGE_BYTES) break;
    }
    return to;
  }
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
