/**
 * A transaction opened by hand (`multi({ pipeline: false })`): the batch of its commands. It records them, because
 * only the reply to EXEC tells which of them have failed.
 */

import { Batch, BatchKind } from "../command/batch";
import type { Command } from "../command/command";
import { ReplyError } from "../errors";
import { attachCommand } from "../observability/redact";
import type { Reply } from "../protocol/resp-types";

export class OpenTransaction extends Batch {
  /** MULTI, and the commands that the server has queued since. */
  private readonly accepted: Command[] = [];

  constructor() {
    super(BatchKind.Transaction, 0, null);
  }

  join(command: Command): void {
    const extra = command.ensureExtra();
    extra.group = this;
    extra.addHook({ onSettled: (error) => error === null && this.accepted.push(command) });
  }

  /** Adds to each error in the reply to EXEC the command that has failed. */
  nameErrors(replies: Reply): void {
    if (!Array.isArray(replies)) return;
    for (const [index, reply] of replies.entries()) {
      const member = this.accepted[index + 1];
      if (reply instanceof ReplyError && member !== undefined)
        attachCommand(reply, member.spec.name, member.args);
    }
  }
}
