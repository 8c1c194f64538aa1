/**
 * Commands that wait for a connection, in the order in which they are to be sent. What a lost
 * connection leaves behind goes back to the front.
 */

import Denque from "denque";
import { type Command, CommandState } from "../command/command";

export class OfflineQueue {
  private readonly items = new Denque<Command>();

  get length(): number {
    return this.items.length;
  }

  push(command: Command): void {
    command.state = CommandState.Queued;
    this.items.push(command);
  }

  /** Puts commands before everything that waits, keeping their own order. */
  putBack(commands: readonly Command[]): void {
    for (let i = commands.length - 1; i >= 0; i--) {
      const command = commands[i] as Command;
      command.state = CommandState.Queued;
      this.items.unshift(command);
    }
  }

  shift(): Command | undefined {
    return this.items.shift();
  }

  /** Empties the queue and returns what was in it. */
  takeAll(): Command[] {
    const all = this.items.toArray();
    this.items.clear();
    return all;
  }
}
