/**
 * Decides, at the moment of writing, whether a command still goes out. One that is settled
 * already (time limit, abort signal) does not, with two exceptions: a transaction that has begun
 * on the wire is completed, or the connection would stay in MULTI; and what changes the session
 * goes out in its turn, because later commands rely on it (SELECT) or are guarded by it (WATCH).
 *
 * A transaction of which a member was given up before it began is not written at all: all others
 * fail, so that nothing of it runs outside MULTI.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { AbortError } from "../errors";

/** Commands that are written although their callers have given up. */
export const STAYING = CommandFlag.Select | CommandFlag.Watch | CommandFlag.Unwatch | CommandFlag.Reset;

/** True when the command is to be encoded now; `place` is its number in the order of writing. */
export function passesGate(command: Command, place: number): boolean {
  const { group } = command;
  const isWhole = group !== null && group.kind === BatchKind.Transaction;
  if (isWhole && !group.isStarted) {
    if (command.isSettled) group.dropOut();
    else if (group.isRefused) command.fail(new AbortError(TRANSACTION_DISCARDED));
  }
  if (command.isSettled) {
    if (isWhole ? group.isStarted || isSelect(command) : (command.spec.flags & STAYING) !== 0) return true;
    command.state = CommandState.Dropped;
    return false;
  }
  if (group !== null) group.isStarted = true;
  if (command.extra !== null) {
    command.extra.sentAtMs = performance.now();
    command.extra.place = place;
  }
  command.state = CommandState.Sent;
  return true;
}

const TRANSACTION_DISCARDED =
  "EXECABORT Transaction discarded because one of its commands was given up before it was written.";

/** Commands behind it were issued for its database, whatever becomes of its transaction. */
function isSelect(command: Command): boolean {
  return (command.spec.flags & CommandFlag.Select) !== 0;
}
