/**
 * Commands that wait for a connection, in the order of sending. Commands of a lost connection return to the
 * front.
 */

import Denque from "denque";
import { type Command, CommandState } from "../command/command";
import { CommandFlag } from "../command/command-spec";
import { estimateSum, sizeOf } from "../command/size";
import { FIRST_SWEEP, nextSweep } from "../command/sweep";

export class OfflineQueue {
  private items = new Denque<Command>();
  /** Commands answered with an error that requires another connection: first on the next one. */
  private requeued: Command[] = [];
  /** The length at which commands that settled while waiting (timeouts) are removed. */
  private sweepAt = FIRST_SWEEP;

  get length(): number {
    return this.requeued.length + this.items.length;
  }

  /** The bytes of the waiting commands, estimated from a sample. */
  get bytes(): number {
    const { requeued, items } = this;
    const at = (index: number): Command | undefined =>
      requeued[index] ?? items.peekAt(index - requeued.length);
    return estimateSum(this.length, (index) => sizeOf(at(index) as Command));
  }

  push(command: Command): void {
    if (!command.isSettled) command.state = CommandState.Queued;
    this.items.push(command);
    if (this.items.length >= this.sweepAt) this.sweep();
  }

  lastOf(isWanted: (command: Command) => boolean): Command | undefined {
    for (let i = this.items.length - 1; i >= 0; i--) {
      const command = this.items.peekAt(i) as Command;
      if (isWanted(command)) return command;
    }
    return this.requeued.findLast(isWanted);
  }

  /** Puts a command before all that the current connection will leave. */
  requeue(command: Command): void {
    this.requeued.push(command);
  }

  /** Puts commands of a lost connection behind the requeued ones. Returns how many had been written. */
  putBack(left: readonly Command[]): number {
    let written = 0;
    for (const command of left) {
      if (command.state === CommandState.Sent) written++;
      if (!command.isSettled) command.state = CommandState.Queued;
    }
    if (this.items.length === 0) this.items = new Denque(left as Command[]);
    else for (let i = left.length - 1; i >= 0; i--) this.items.unshift(left[i] as Command);
    for (const command of this.requeued.reverse()) {
      if (!command.isSettled) command.state = CommandState.Queued;
      this.items.unshift(command);
    }
    this.requeued = [];
    return written;
  }

  has(flag: number): boolean {
    return this.lastOf((command) => !command.isSettled && (command.spec.flags & flag) !== 0) !== undefined;
  }

  pending(): readonly Command[] {
    return [...this.requeued, ...this.items.toArray()];
  }

  /** Sends the commands in order, without settled ones, until `isHeld` returns true for the next one. */
  drain(send: (command: Command) => void, isHeld: (next: Command) => boolean): void {
    for (;;) {
      const next = this.items.peekFront();
      if (next === undefined) {
        // The ring would keep the size of the longest queue.
        this.items = new Denque();
        return;
      }
      if (isHeld(next)) return;
      this.items.shift();
      // A WATCH guards later commands, even if its caller has given up.
      if (!next.isSettled || (next.spec.flags & CommandFlag.Watch) !== 0) send(next);
      else next.group?.dropOut();
    }
  }

  private sweep(): void {
    const waiting: Command[] = [];
    for (const command of this.items.toArray()) {
      if (!command.isSettled) waiting.push(command);
      else command.group?.dropOut();
    }
    this.items = new Denque(waiting);
    this.sweepAt = nextSweep(waiting.length);
  }

  takeAll(): Command[] {
    const { requeued } = this;
    this.requeued = [];
    return requeued.concat(this.takeWaiting());
  }

  takeThose(isWanted: (command: Command) => boolean): Command[] {
    if (this.length === 0) return [];
    const taken: Command[] = [];
    const stays = (command: Command): boolean => {
      const isTaken = isWanted(command);
      if (isTaken) taken.push(command);
      return !isTaken;
    };
    this.requeued = this.requeued.filter(stays);
    this.items = new Denque(this.items.toArray().filter(stays));
    return taken;
  }

  /** Like `takeAll`, without the requeued commands. */
  takeWaiting(): Command[] {
    const all = this.items.toArray();
    this.items = new Denque();
    return all;
  }
}
