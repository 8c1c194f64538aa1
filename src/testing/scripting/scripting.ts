/**
 * Scripts and functions of a server. The interpreter is loaded when the first script comes.
 */

import type { CommandEntry } from "../server/command-table";
import type { Engine } from "../server/engine";

export class Scripting {
  constructor(readonly engine: Engine) {}

  /** Whether the command needs the interpreter and it is not there yet. */
  mustLoad(_entry: CommandEntry): boolean {
    return false;
  }

  load(): Promise<void> {
    return Promise.resolve();
  }
}
