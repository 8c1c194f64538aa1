/** Commands that pass through a replaced `sendCommand`, which may throw, change arguments, or return its own promise. */

import type { Command } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { nextTick } from "../util/scheduling";
import { isThenable, toError } from "../util/user-code";

/** Commands taken by `sendCommand` while a batch passes through it; null otherwise. */
export const COLLECTED: unique symbol = Symbol("collected");

export interface InterceptedClient {
  [COLLECTED]: Command[] | null;
  sendCommand(command: Command): unknown;
}

/**
 * Passes one command through, and returns the promise for its caller: the one that the replacement returns, if it
 * returns one. Calls that the replacement makes for commands of a batch are not part of the batch.
 */
export function passAlone(client: InterceptedClient, command: Command): Promise<unknown> {
  const collected = client[COLLECTED];
  client[COLLECTED] = null;
  try {
    const returned = client.sendCommand(command);
    return isThenable(returned) ? (returned as Promise<unknown>) : command.promise;
  } finally {
    client[COLLECTED] = collected;
  }
}

/** Passes the commands of a batch through, and returns those to send. If the replacement throws, one command fails. */
export function passBatch(client: InterceptedClient, commands: readonly Command[]): readonly Command[] {
  const collected: Command[] = [];
  // A replaced `sendCommand` may send its own batch while it sees the commands of this one.
  const outer = client[COLLECTED];
  client[COLLECTED] = collected;
  try {
    for (const command of commands) {
      try {
        const returned = client.sendCommand(command);
        // The batch reports the outcome; the promise of the replacement has no other consumer.
        if (isThenable(returned)) returned.then(undefined, () => {});
      } catch (error) {
        command.fail(toError(error));
        command.batch?.dropOut();
      }
    }
  } finally {
    client[COLLECTED] = outer;
  }
  return collected;
}

export function notePlaces(commands: readonly Command[]): void {
  let isInTransaction = false;
  for (const command of commands) {
    const { flags } = command.spec;
    if ((flags & CommandFlag.Multi) !== 0) isInTransaction = true;
    else if ((flags & CommandFlag.Exec) !== 0) isInTransaction = false;
    command.pipelineIndex = command.index;
    command.inTransaction = isInTransaction;
  }
}

/**
 * Sends a command on behalf of a replaced `sendCommand`. Tracers replace `command.reject` only after that
 * method has returned, so an immediate rejection is delayed until then.
 */
export function refusingLate(command: Command, handOver: () => void): void {
  const extra = command.ensureExtra();
  const { reject } = extra;
  const refusals: Error[] = [];
  extra.reject = (error) => refusals.push(error);
  try {
    handOver();
  } finally {
    extra.reject = reject;
  }
  const [refusal] = refusals;
  if (refusal !== undefined) nextTick(() => command.fail(refusal));
}
