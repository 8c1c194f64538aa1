/** Builds the ASKING command, which opens an importing slot for the next command or transaction only. */

import { type Command, CommandState, Origin } from "../command/command";
import { completionOf, ownCommand } from "../command/own-command";
import { ReplyError } from "../errors";

export function askingFor(command: Command): Command {
  // A refused ASKING explains the redirect that follows: the node answers the command as if the slot were not
  // open.
  const onAnswered = (error: Error | null): void => {
    if (error instanceof ReplyError) command.ensureExtra().ensureTrail().askingError = error;
  };
  const asking = ownCommand(Origin.Client, "asking", [], completionOf(onAnswered));
  // The redirector takes queued commands by slot, so ASKING has the slot of its command.
  asking.slot = command.slot;
  // Members of a transaction stay in place when they are given up, so their ASKING stays too.
  if (command.batch !== null) return asking;
  // When a command ends before it is written, its ASKING ends too.
  const onSettled = (): void => {
    if (asking.state <= CommandState.Queued) asking.fail(new Error("withdrawn"));
  };
  command.ensureExtra().addHook({ onSettled });
  return asking;
}
