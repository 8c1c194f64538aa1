/**
 * Commands on their way through a `sendCommand` that has been replaced (tracers and wrappers do
 * that). It is the user's code: it may throw, change arguments, or return a promise of its own.
 */

import type { Command } from "../command/command";
import { toError } from "../util/user-code";

/** What the caller of a single command gets: the promise that the replacement returns, if it is one. */
export function outcomeOf(command: Command, returned: unknown): Promise<unknown> {
  return isThenable(returned) ? (returned as Promise<unknown>) : command.promise;
}

/** Passes the command of a batch through; one that the replacement throws for fails alone. */
export function passThrough(command: Command, send: (command: Command) => unknown): void {
  try {
    const returned = send(command);
    // The batch reports the outcome; what the replacement makes of it has no other reader.
    if (isThenable(returned)) returned.then(undefined, ignore);
  } catch (error) {
    command.fail(toError(error));
    command.batch?.dropOut();
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";
}

function ignore(): void {}
