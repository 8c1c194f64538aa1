/** Returns the memory of large arguments to its pool when their command is answered. */

import { largeCopies, returnCopy } from "../protocol/large-copies";
import { LARGE_BYTES } from "../protocol/limits";
import type { Command } from "./command";
import { CommandFlag } from "./command-spec";

export { largeCopies };

/** Called for a command that only the client holds, if `largeCopies.wereMade` is set. */
export function recycleArguments(command: Command): void {
  largeCopies.wereMade = false;
  const { flags } = command.spec;
  // A blocking command may time out with null before it is answered, and user functions may inspect reads.
  const isPlainWrite = (flags & (CommandFlag.Write | CommandFlag.Blocking)) === CommandFlag.Write;
  if (!isPlainWrite) return;
  const { args } = command;
  const extra = command.ensureExtra();
  const onSettled = (error: Error | null, value?: unknown): void => {
    // A member of a transaction may be sent again although it was answered QUEUED.
    if (error !== null || value === "QUEUED" || extra.group !== null) return;
    if (extra.resolve !== null || extra.reject !== null) return;
    for (const argument of args) {
      if (typeof argument !== "string" && argument.length >= LARGE_BYTES) returnCopy(argument);
    }
  };
  extra.addHook({ onSettled });
}
