/**
 * Decides, at the moment of writing, whether a command still goes out. One that is settled
 * already (time limit, abort signal) does not, with one exception: what changes the session goes
 * out in its turn, because later commands rely on it (SELECT) or are guarded by it (WATCH).
 *
 * A transaction of which a member was given up before it began is not written at all: all others
 * fail, so that nothing of it runs outside MULTI. One that has begun is closed with DISCARD.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { specOf } from "../command/command-table";
import { mergedIn } from "../command/merged-commands";
import { AbortError } from "../errors";
import { userClockMs } from "../util/scheduling";

/** Commands that are written although their callers have given up. */
export const STAYING = CommandFlag.Select | CommandFlag.Watch | CommandFlag.Unwatch | CommandFlag.Reset;

/** A faked clock may say 0, which means that the command was not written. */
const JUST_STARTED_MS = Number.EPSILON;

/** True when the command is to be encoded now; `place` is its number in the order of writing. */
export function beginWriting(command: Command, place: number): boolean {
  const merged = mergedIn(command);
  if (merged !== null && !merged.begin((member) => beginWriting(member, place))) {
    command.state = CommandState.Dropped;
    return false;
  }
  const { group } = command;
  const isWhole = group !== null && group.kind === BatchKind.Transaction;
  if (isWhole) {
    if (command.isSettled) group.isRefused = true;
    else if (group.isRefused) command.fail(new AbortError(TRANSACTION_DISCARDED));
  }
  if (command.isSettled) {
    if (isWhole ? group.isStarted && closes(command) : (command.spec.flags & STAYING) !== 0) return true;
    command.state = CommandState.Dropped;
    return false;
  }
  if (group !== null && !group.isStarted) group.start();
  if (command.extra !== null) {
    command.extra.sentAtMs = userClockMs() || JUST_STARTED_MS;
    command.extra.place = place;
  }
  command.state = CommandState.Sent;
  return true;
}

/** Instead of EXEC: the connection must not stay in MULTI. */
function closes(command: Command): boolean {
  if ((command.spec.flags & CommandFlag.Exec) !== 0) command.spec = specOf("discard");
  return (command.spec.flags & CommandFlag.Discard) !== 0;
}

/** The error of the members of a transaction that lacks one of them. */
export const TRANSACTION_DISCARDED =
  "EXECABORT Transaction discarded because one of its commands was given up before it was written.";
