/**
 * Decides at the time of writing whether a command is still written, by `command/fate.ts`, and records the time
 * and place of the write.
 */

import { BatchKind } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { specOf } from "../command/command-table";
import { endingError } from "../command/ending-errors";
import { type FateEvent, fateOf } from "../command/fate";
import { userClockMs } from "../util/scheduling";

const WRITING: FateEvent = { kind: "writing" };

/** A faked clock may return 0, which would mean that the command was not written. */
const JUST_STARTED_MS = Number.EPSILON;

/** Returns true if the command must be encoded now; `place` is its number in the order of writing. */
export function beginWriting(command: Command, place: number): boolean {
  const { group } = command;
  // Most commands: not given up, and no other command depends on them.
  const isOrdinary = !command.isSettled && (group === null || group.kind !== BatchKind.Transaction);
  if (!isOrdinary && !goesOn(command)) return false;
  if (command.isSettled) return true;
  if (group !== null && !group.isStarted) group.start();
  if (command.extra !== null) {
    command.extra.sentAtMs = userClockMs() || JUST_STARTED_MS;
    command.extra.place = place;
  }
  command.state = CommandState.Sent;
  return true;
}

function goesOn(command: Command): boolean {
  const { does, ending, endsBatch } = fateOf(command, WRITING);
  if (does === "goes on") return true;
  if (endsBatch) command.group?.refuse();
  if (ending !== null && !command.isSettled) command.fail(endingError(ending, command));
  if (does === "is closed by DISCARD") {
    if ((command.spec.flags & CommandFlag.Exec) !== 0) command.spec = specOf("discard");
    return true;
  }
  command.state = CommandState.Dropped;
  return false;
}
