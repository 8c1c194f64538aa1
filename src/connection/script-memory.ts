/**
 * Remembers which Lua scripts the server has seen on this connection. Decides at the time of writing whether a
 * script is sent as EVAL with its text or as EVALSHA with its hash. In an explicit batch the first use always
 * sends the text, because the server may have lost the script meanwhile: commands behind an EVALSHA with
 * NOSCRIPT would run before its text is sent again, and an element of EXEC could not be repaired at all.
 */

import { type Batch, BatchKind } from "../command/batch";
import type { Command } from "../command/command";

export class ScriptMemory {
  private readonly known = new Set<string>();
  /** The explicit batch that is being written, and the scripts that it has sent. */
  private batch: Batch | null = null;
  private inBatch = new Set<string>();

  /** Sets the name and the first argument of a script command. */
  choose(command: Command): void {
    const script = command.extra?.script;
    if (script === null || script === undefined) return;
    const seen = this.scopeOf(command);
    if (seen.has(script.sha)) {
      command.become(script.bySha, script.sha);
      return;
    }
    seen.add(script.sha);
    this.known.add(script.sha);
    command.become(script.byText, script.lua);
  }

  /** The server replied NOSCRIPT. */
  forget(sha: string): void {
    this.known.delete(sha);
    this.inBatch.delete(sha);
  }

  private scopeOf({ extra, group }: Command): Set<string> {
    const batch = extra?.scriptBatch ?? (group?.kind === BatchKind.Transaction ? group : null);
    if (batch === null) return this.known;
    if (this.batch !== batch) this.inBatch = new Set();
    this.batch = batch;
    return this.inBatch;
  }
}
