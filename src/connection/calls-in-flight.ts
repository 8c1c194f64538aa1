/**
 * Plain calls on their way through one connection: one entry of the command queue for many calls.
 * How far it is written and answered are two numbers; replies come in the order of writing.
 *
 *   calls:  | answered |   in flight   |  not written  |
 *           0          ^ next          ^ written       ^ end
 */

import { type Command, CommandState } from "../command/command";
import { LEGACY_SHAPE } from "../command/command-spec";
import type { PlainCalls } from "../command/plain-calls";
import { IGNORED } from "../command/promise-completion";

/** There may be many such entries, each with many calls. */
const CALLS_LOOKED_AT = 16;

export class CallsInFlight {
  next: number;
  written: number;
  /** `Dropped` once nothing is left to be written or answered: the queue steps over it. */
  state: CommandState = CommandState.Queued;
  /** Settles when the entry is over, for those who wait for that. */
  private marker: Command | null = null;

  /** Of the calls, those from `from` to `end - 1`. */
  constructor(
    readonly calls: PlainCalls,
    from = 0,
    public end: number = calls.length,
  ) {
    this.next = from;
    this.written = from;
  }

  get isReadAsBuffers(): boolean {
    return this.calls.wantsBuffers;
  }

  get isSettled(): boolean {
    return this.state === CommandState.Dropped;
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

  /** Bytes of the calls that are written and not answered, estimated from a few. */
  get bytesInFlight(): number {
    return this.calls.bytesOf(this.next, this.written, CALLS_LOOKED_AT);
  }

  /** Bytes of the calls that are still to be written, estimated from a few. */
  get unwrittenBytes(): number {
    return this.calls.bytesOf(this.written, this.end, CALLS_LOOKED_AT);
  }

  finish(): void {
    this.state = CommandState.Dropped;
    this.marker?.fulfil(null, LEGACY_SHAPE);
  }

  /** The next unanswered call becomes a command. */
  takeNext(): Command {
    const isWritten = this.next < this.written;
    const command = this.calls.commandAt(this.next++);
    if (!command.isSettled) command.state = isWritten ? CommandState.Sent : CommandState.Queued;
    return command;
  }

  /** Fails the calls that are not answered, each with the error that is made for it. */
  fail(makeError: (isWritten: boolean) => Error): void {
    while (!this.calls.isAbandoned && !this.isOver) {
      const isWritten = this.isAwaited;
      this.calls.fail(this.next++, makeError(isWritten));
    }
    this.finish();
  }

  /** The oldest unanswered call as a command to be looked at; undefined if none is written. */
  oldest(): Command | undefined {
    return this.isAwaited ? this.calls.view(this.next, IGNORED) : undefined;
  }

  /** A view of the last call that settles when all of them are over. */
  last(): Command {
    this.marker ??= this.calls.view(this.end - 1, IGNORED);
    return this.marker;
  }
}
