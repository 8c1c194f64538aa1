/**
 * Sends commands that block over connections of their own, so that they never hold up the
 * shared one: each leases a connection from a small pool and gives it back when it is answered.
 * A dispatcher over a dispatcher; absent unless `blockingConnections` asks for it. Blocking
 * commands inside explicit batches and transactions stay where they are, and so do those of a
 * client that is closed: the link below refuses them.
 */

import Denque from "denque";
import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import type { PlainCalls } from "../command/plain-calls";
import { ReplyError } from "../errors";

/** One extra connection. */
export interface LeasedLine extends Dispatcher {
  /** False once it has given up reconnecting. */
  readonly isUsable: boolean;
  /** Runs what follows on this database. */
  useDb(db: number): void;
  close(): void;
}

export interface BlockingLeaseOptions {
  /** Most extra connections; further blocking commands wait for one. */
  readonly maxLines: number;
  /** `onTaken` is called when the command that has the line goes on elsewhere. */
  makeLine(onTaken: () => void): LeasedLine;
  /** Database that the next command is issued for. */
  currentDb(): number;
  /** The next command belongs on the shared connection, whatever it is. */
  isBoundToShared(): boolean;
}

export class BlockingLease implements Dispatcher {
  /** All lines, with who has them. */
  private readonly lines = new Map<LeasedLine, GiveBack | null>();
  private idle: LeasedLine[] = [];
  private readonly waiting = new Denque<Command>();

  constructor(
    /** Replaced when auto-pipelining is switched on or off. */
    public next: Dispatcher,
    private readonly options: BlockingLeaseOptions,
  ) {}

  dispatch(command: Command): void {
    if (this.isForLine(command)) this.lend(command);
    else this.next.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    const only = commands.length === 1 ? commands[0] : undefined;
    // A single command that passes by the auto-pipeliner.
    if (only?.batch === null && this.isForLine(only)) this.lend(only);
    else this.next.dispatchBatch(commands);
  }

  /** Plain calls do not block. */
  dispatchCalls(calls: PlainCalls): boolean {
    return this.next.dispatchCalls?.(calls) ?? false;
  }

  /** Ends all extra connections and what blocks on them. `refuse` gets what still waits for one. */
  close(refuse: (commands: readonly Command[]) => void): void {
    const lines = [...this.lines.keys()];
    const waiting = this.waiting.toArray();
    this.waiting.clear();
    this.idle = [];
    this.lines.clear();
    for (const line of lines) line.close();
    refuse(waiting);
  }

  private isForLine({ spec, args }: Command): boolean {
    return (flagsFor(spec, args) & CommandFlag.Blocking) !== 0 && !this.options.isBoundToShared();
  }

  private lend(command: Command): void {
    command.db = this.options.currentDb();
    this.waiting.push(command);
    this.serve();
  }

  private serve(): void {
    while (this.waiting.length > 0) {
      const line = this.takeIdle() ?? this.makeLine();
      if (line === null) return;
      const command = this.waiting.shift() as Command;
      if (command.isSettled) {
        this.idle.push(line);
        continue;
      }
      const hook = new GiveBack(this, line, command);
      this.lines.set(line, hook);
      command.ensureExtra().addHook(hook);
      line.useDb(command.db);
      line.dispatch(command);
    }
  }

  private takeIdle(): LeasedLine | undefined {
    for (let line = this.idle.pop(); line !== undefined; line = this.idle.pop()) {
      if (line.isUsable) return line;
      this.lines.delete(line);
    }
    return undefined;
  }

  private makeLine(): LeasedLine | null {
    if (this.lines.size >= this.options.maxLines) return null;
    // Commands that go on elsewhere may settle late, or never without a line: it is free at once.
    const line: LeasedLine = this.options.makeLine(() => {
      const hook = this.lines.get(line);
      if (hook) this.giveBack(hook, line.isUsable);
    });
    this.lines.set(line, null);
    return line;
  }

  /** A command has settled or left; a line that was closed or lent again meanwhile is none of its business. */
  giveBack(hook: GiveBack, isReusable: boolean): void {
    const { line } = hook;
    if (this.lines.get(line) !== hook) return;
    this.lines.set(line, null);
    if (isReusable) this.idle.push(line);
    else {
      // The command failed or timed out here while the server may still hold the line.
      this.lines.delete(line);
      line.close();
    }
    this.serve();
  }
}

class GiveBack implements SettleHook {
  constructor(
    private readonly lease: BlockingLease,
    readonly line: LeasedLine,
    private readonly command: Command,
  ) {}

  onFulfilled(): void {
    this.lease.giveBack(this, this.command.extra?.isLeftBlocked !== true);
  }

  onFailed(error: Error): void {
    this.lease.giveBack(this, error instanceof ReplyError);
  }
}
