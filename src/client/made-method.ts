/** Methods that are made at run time: of scripts, and of commands that the table does not know. */

import type { Command } from "../command/command";
import type { Completion } from "../command/completion";
import { PromiseCompletion } from "../command/promise-completion";
import { asCallback, takeCallback } from "../util/callback";
import { toError } from "../util/user-code";

/** A method that makes a command of its arguments and hands it on; a callback may come last. */
export function makeMethod<Client>(
  make: (client: Client, args: unknown[], completion: Completion) => Command,
  issue: (client: Client, command: Command) => Promise<unknown>,
): (this: Client, ...args: unknown[]) => Promise<unknown> {
  return function (...args) {
    const callback = takeCallback(args);
    const completion = new PromiseCompletion();
    let outcome = completion.promise;
    try {
      outcome = issue(this, make(this, args, completion));
    } catch (error) {
      completion.refuse(toError(error));
    }
    return asCallback(outcome, callback ?? undefined);
  };
}
