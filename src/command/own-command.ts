/** Creates the commands that the client sends on its own account. */

import type { Argument, Reply } from "../protocol/resp-types";
import { Command, type Completion, IGNORED, issuedBy, type Origin } from "./command";
import { specOf } from "./command-table";

/** A command with strings in its reply. Without a completion, its outcome is ignored. */
export function ownCommand(
  origin: Origin,
  name: string,
  args: Argument[] = [],
  completion: Completion = IGNORED,
): Command {
  return issuedBy(origin, new Command(specOf(name), args, false, completion));
}

/** A completion that calls `onSettled` with null and the reply, or with the error. */
export function completionOf(onSettled: (error: Error | null, reply?: Reply) => void): Completion {
  return {
    fulfil: (_command, reply) => onSettled(null, reply),
    reject: (_command, error) => onSettled(error),
  };
}
