/**
 * Plain calls on their way through one connection: an entry of the command queue that stands for
 * many. How far it is written and answered are two numbers; replies come in the order of writing.
 *
 *   calls:  | answered |   in flight   |  not written  |
 *           0          ^ next          ^ written       ^ end
 */

import { Command, CommandState } from "../command/command";
import { CommandFlag, type CommandSpec, type ReplyShape } from "../command/command-spec";
import type { Completion } from "../command/completion";
import { NO_KEYS } from "../command/key-positions";
import type { PlainCalls } from "../command/plain-calls";

const SHAPE: ReplyShape = { protocol: 2, replyMapping: "legacy" };

const STAND_IN: CommandSpec = {
  name: "stretch",
  lowerName: "stretch",
  flags: CommandFlag.Stretch,
  keys: NO_KEYS,
  encodedName: Buffer.alloc(0),
  replyMapper: null,
  argumentMapper: null,
};

export class Stretch implements Completion {
  readonly promise = null;
  next = 0;
  written = 0;
  end: number;
  /** The entry of the queue. An ordinary command, so that all entries have one shape. */
  readonly standIn: Command;

  constructor(readonly calls: PlainCalls) {
    this.end = calls.length;
    this.standIn = new Command(STAND_IN, [], calls.wantsBuffers, this);
  }

  /** Nothing is left to be written or answered. */
  get isOver(): boolean {
    return this.next === this.end;
  }

  get isAwaited(): boolean {
    return this.next < this.written;
  }

  /** Calls that are still to be written. */
  get unwritten(): number {
    return this.end - this.written;
  }

  /** Tells those who wait for the last entry of the queue. */
  finish(): void {
    this.standIn.fulfil(null, SHAPE);
    this.standIn.state = CommandState.Dropped;
  }

  /** The next unanswered call becomes a command. */
  takeNext(): Command {
    const isWritten = this.next < this.written;
    const command = this.calls.commandAt(this.next++);
    if (!command.isSettled) command.state = isWritten ? CommandState.Sent : CommandState.Queued;
    return command;
  }

  fulfil(): void {}

  reject(): void {}
}

/** The stretch that an entry of the queue stands for. */
export function stretchOf({ spec, completion }: Command): Stretch | null {
  return (spec.flags & CommandFlag.Stretch) === 0 ? null : (completion as Stretch);
}
