/**
 * Scripts and functions of a server. The interpreter is loaded when the first script comes.
 */

import type { CommandEntry, ScriptHost, ServerEngine } from "../server/model";

export class Scripting implements ScriptHost {
  constructor(readonly engine: ServerEngine) {}

  /** Whether the command needs the interpreter and it is not there yet. */
  mustLoad(_entry: CommandEntry): boolean {
    return false;
  }

  load(): Promise<void> {
    return Promise.resolve();
  }
}
