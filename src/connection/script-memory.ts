/**
 * Which Lua scripts the server has seen on this connection. Decides, at the moment of writing,
 * whether a script goes out as EVAL with its text or as EVALSHA with its hash. Inside MULTI the
 * first use is always the text: an element of EXEC that says NOSCRIPT could not be repaired.
 */

import { type Batch, BatchKind } from "../command/batch";
import type { Command } from "../command/command";

export class ScriptMemory {
  private readonly known = new Set<string>();
  private transaction: Batch | null = null;
  private readonly inTransaction = new Set<string>();

  /** Sets the command word and the first argument of a script command. */
  choose(command: Command): void {
    const script = command.extra?.script;
    if (script === null || script === undefined) return;
    const seen = this.scopeOf(command.group);
    if (seen.has(script.sha)) {
      command.become(script.bySha, script.sha);
      return;
    }
    seen.add(script.sha);
    this.known.add(script.sha);
    command.become(script.byText, script.lua);
  }

  /** The server answered NOSCRIPT. */
  forget(sha: string): void {
    this.known.delete(sha);
  }

  private scopeOf(batch: Batch | null): Set<string> {
    if (batch === null || batch.kind !== BatchKind.Transaction) return this.known;
    if (this.transaction !== batch) {
      this.transaction = batch;
      this.inTransaction.clear();
    }
    return this.inTransaction;
  }
}
