/** Builds the ASKING command, which opens an importing slot for the next command or transaction only. */

import { Command, CommandState, type Completion, issuedBy, Origin } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { specOf } from "../command/command-table";
import { ReplyError } from "../errors";

/** The ASKING that precedes a command. */
export function askingFor(command: Command): Command {
  const asking = issuedBy(Origin.Client, new Command(specOf("asking"), [], false, new AskingAnswer(command)));
  // While the command waits for a connection, both are found by their slot.
  asking.slot = command.slot;
  // Members of a transaction stay in place when they are given up, so they need no guard.
  if (command.batch === null) command.ensureExtra().addHook(new AskingGuard(asking));
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
    if (error instanceof ReplyError) this.command.ensureExtra().ensureTrail().refusal = error;
  }
}

/** When a command ends before it is written, its ASKING ends too. */
class AskingGuard implements SettleHook {
  constructor(private readonly asking: Command) {}

  onFulfilled(): void {
    this.withdraw();
  }

  onFailed(): void {
    this.withdraw();
  }

  private withdraw(): void {
    if (this.asking.state <= CommandState.Queued) this.asking.fail(new Error("withdrawn"));
  }
}
