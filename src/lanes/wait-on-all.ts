/**
 * WAIT and WAITAOF are about the writes of one connection, so each lane is asked; the caller gets
 * what holds for all of them: the least of each number.
 */

import { Command, CommandState, issuedBy, Origin } from "../command/command";
import { LEGACY_SHAPE } from "../command/command-spec";
import type { Dispatcher } from "../command/dispatcher";
import type { Reply } from "../protocol/resp-types";
import { userClockMs } from "../util/scheduling";

export function waitOnAll(command: Command, lanes: readonly Dispatcher[]): void {
  let left = lanes.length;
  let least: Reply;
  const completion = {
    promise: null,
    fulfil: (_: Command, reply: Reply): void => {
      least = leastOf(least, reply);
      if (--left === 0) command.fulfil(least, LEGACY_SHAPE);
    },
    reject: (_: Command, error: Error): void => command.fail(error),
  };
  // Its time limit counts from now on.
  command.state = CommandState.Sent;
  command.ensureExtra().sentAtMs = userClockMs();
  for (const lane of lanes) {
    const part = new Command(command.spec, [...command.args], command.wantsBuffers, completion);
    lane.dispatchBatch([issuedBy(Origin.Part, part)]);
  }
}

/** Of numbers (digits under `stringNumbers`), or of lists of them, one by one. */
function leastOf(one: Reply, other: Reply): Reply {
  if (one === undefined) return other;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.map((number: Reply, index) => leastOf(number, (other as Reply[])[index]));
  }
  return Number(other) < Number(one) ? other : one;
}
