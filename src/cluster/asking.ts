/** Builds the ASKING command, which opens an importing slot for the next command or transaction only. */

import { type Command, CommandState, type Completion, Origin } from "../command/command";
import { ownCommand } from "../command/own-command";
import { ReplyError } from "../errors";

/** The ASKING that precedes a command. */
export function askingFor(command: Command): Command {
  const asking = ownCommand(Origin.Client, "asking", [], new AskingAnswer(command));
  // While the command waits for a connection, both are found by their slot.
  asking.slot = command.slot;
  // Members of a transaction stay in place when they are given up, so their ASKING stays too.
  if (command.batch !== null) return asking;
  // When a command ends before it is written, its ASKING ends too.
  const withdraw = (): void => {
    if (asking.state <= CommandState.Queued) asking.fail(new Error("withdrawn"));
  };
  command.ensureExtra().addHook({ onFulfilled: withdraw, onFailed: withdraw });
  return asking;
}

/**
 * A refused ASKING explains the redirect that follows: the node answers the command as if the slot were not
 * open.
 */
class AskingAnswer implements Completion {
  readonly promise = null;

  constructor(private readonly command: Command) {}

  fulfil(): void {}

  reject(_asking: Command, error: Error): void {
    if (error instanceof ReplyError) this.command.ensureExtra().ensureTrail().askingError = error;
  }
}
