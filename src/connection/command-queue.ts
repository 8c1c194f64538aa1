/**
 * The commands of one connection in the order in which they go out and are answered.
 *
 *   queue:  | answered |   in flight   |  unsent  |
 *                      ^ head          ^ sentMark ^ tail
 *
 * A reply always belongs to head. A lost connection hands back [head, tail). Commands that
 * settled before they were written keep their place as `Dropped` and are stepped over.
 */

import Denque from "denque";
import { type Command, CommandState } from "../command/command";

export class CommandQueue {
  private readonly items = new Denque<Command>();
  /** Distance of the first unsent command from head. */
  private sentMark = 0;
  /** Written commands whose reply has not come. */
  inFlight = 0;
  /** Replies that have come. */
  answered = 0;

  /** Commands that are unsent or unanswered. */
  get length(): number {
    return this.items.length;
  }

  get unsent(): number {
    return this.items.length - this.sentMark;
  }

  push(command: Command): void {
    this.items.push(command);
  }

  /** Steps over the next unsent command and returns it. */
  advance(): Command | undefined {
    return this.items.peekAt(this.sentMark++);
  }

  /** The command that the next reply belongs to. */
  head(): Command | undefined {
    let command = this.items.peekFront();
    while (command !== undefined && command.state === CommandState.Dropped) {
      this.items.shift();
      this.sentMark--;
      command = this.items.peekFront();
    }
    return this.sentMark > 0 ? command : undefined;
  }

  /** Takes the command that a reply has just arrived for. */
  shift(): Command | undefined {
    const command = this.head();
    if (command === undefined) return undefined;
    this.items.shift();
    this.sentMark--;
    this.inFlight--;
    this.answered++;
    return command;
  }

  at(index: number): Command | undefined {
    return this.items.peekAt(index);
  }

  /** Empties the queue: what was written and what was not, both in order. */
  takeAll(): { sent: Command[]; unsent: Command[] } {
    const all = this.items.toArray();
    const sent = all.slice(0, this.sentMark);
    const unsent = all.slice(this.sentMark);
    this.items.clear();
    this.sentMark = 0;
    this.inFlight = 0;
    return { sent, unsent };
  }
}
