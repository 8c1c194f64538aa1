/** Gives the memory of large arguments back when their command is answered. */

import { answeredCopy, LARGE_COPY_BYTES, largeCopies } from "../protocol/large-copies";
import type { Command } from "./command";
import type { SettleHook } from "./command-extra";
import { CommandFlag } from "./command-spec";

export { largeCopies };

/** To be called for a command that nobody but the client has, when `largeCopies.wereMade`. */
export function recycleArguments(command: Command): void {
  largeCopies.wereMade = false;
  const { flags } = command.spec;
  // A blocking command may be given up as null, and a function of the user is asked about reads.
  const isPlainWrite = (flags & (CommandFlag.Write | CommandFlag.Blocking)) === CommandFlag.Write;
  if (isPlainWrite) command.ensureExtra().addHook(new Recycling(command));
}

class Recycling implements SettleHook {
  constructor(private readonly command: Command) {}

  onFulfilled(value: unknown): void {
    const { args, extra } = this.command;
    // The member of a transaction may be sent again although it was answered QUEUED.
    if (value === "QUEUED" || extra === null || extra.group !== null) return;
    if (extra.resolve !== null || extra.reject !== null) return;
    for (const argument of args) {
      if (typeof argument !== "string" && argument.length >= LARGE_COPY_BYTES) answeredCopy(argument);
    }
  }

  onFailed(): void {}
}
