/** ASKING opens an importing slot for exactly the command behind it, or for the transaction behind it. */

import { Command, CommandState, type Completion, issuedBy, Origin } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { specOf } from "../command/command-table";
import { ReplyError } from "../errors";

/** The ASKING that goes before a command. */
export function askingFor(command: Command): Command {
  const asking = issuedBy(Origin.Client, new Command(specOf("asking"), [], false, new AskingAnswer(command)));
  // Where the command waits for a connection, both are found by their slot.
  asking.slot = command.slot;
  // Members of a transaction keep their places when they are given up.
  if (command.batch === null) command.ensureExtra().addHook(new AskingGuard(asking));
  return asking;
}

/** A refused ASKING explains the redirect that follows: the node answers as if the slot were not opened. */
class AskingAnswer implements Completion {
  readonly promise = null;

  constructor(private readonly command: Command) {}

  fulfil(): void {}

  reject(_asking: Command, error: Error): void {
    if (error instanceof ReplyError) this.command.ensureExtra().ensureTrail().refusal = error;
  }
}

/** A command that ends before it is written takes its ASKING with it. */
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
