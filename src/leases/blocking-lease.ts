/**
 * Sends blocking commands over extra connections, so that they never delay the shared one: each borrows a
 * connection from the pool and returns it when it is answered. A dispatcher in front of another; absent
 * without `blockingConnections`. Blocking commands inside explicit batches and transactions use the shared
 * connection, and so do those of a closed client, because the link refuses them.
 */

import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { estimateSum, sizeOf } from "../command/size";
import { ReplyError } from "../errors";
import type { Borrower, ConnectionPool, ExtraConnection } from "./connection-pool";
import { Quota } from "./quota";

export interface SharedConnection {
  /** The database of the next command. */
  currentDb(): number;
  /** The next command must use the shared connection. */
  isBoundToShared(): boolean;
}

export class BlockingLease implements Dispatcher {
  private readonly quota: Quota<Command>;

  constructor(
    /** Replaced when auto-pipelining is switched on or off. */
    public next: Dispatcher,
    /** The most extra connections; further blocking commands wait for one. */
    maxConnections: number,
    private readonly pool: ConnectionPool<ExtraConnection>,
    private readonly shared: SharedConnection,
  ) {
    this.quota = new Quota(maxConnections, (command) => this.serve(command));
  }

  dispatch(command: Command): void {
    if (this.isForLease(command)) this.lend(command);
    else this.next.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    const only = commands.length === 1 ? commands[0] : undefined;
    // A single command that bypasses the auto-pipeliner.
    if (only?.batch === null && this.isForLease(only)) this.lend(only);
    else this.next.dispatchBatch(commands);
  }

  /** Commands that wait for an extra connection. */
  get waitingCount(): number {
    return this.quota.waitingCount;
  }

  /** The bytes of the waiting commands, estimated from a sample. */
  get waitingBytes(): number {
    return estimateSum(this.quota.waitingCount, (index) => sizeOf(this.quota.waitingAt(index)));
  }

  /** Removes and returns the commands that wait for a connection. */
  takeWaiting(): readonly Command[] {
    return this.quota.takeWaiting();
  }

  private isForLease({ spec, args }: Command): boolean {
    return (flagsFor(spec, args) & CommandFlag.Blocking) !== 0 && !this.shared.isBoundToShared();
  }

  private lend(command: Command): void {
    command.db = this.shared.currentDb();
    this.quota.request(command);
  }

  private serve(command: Command): boolean {
    if (command.isSettled) return false;
    const hook = new GiveBack(this, command);
    hook.connection = this.pool.take(command.db, hook);
    command.ensureExtra().addHook(hook);
    hook.connection.dispatch(command);
    return true;
  }

  /**
   * A command has settled or moved. `isReusable` is false if it failed or timed out here while the server may
   * still hold the connection.
   */
  giveBack(hook: GiveBack, isReusable: boolean): void {
    if (hook.isOver) return;
    hook.isOver = true;
    if (hook.connection.borrower === hook) this.pool.giveBack(hook.connection, isReusable);
    this.quota.release();
  }
}

class GiveBack implements SettleHook, Borrower {
  readonly isBound = false;
  connection!: ExtraConnection;
  isOver = false;

  constructor(
    private readonly lease: BlockingLease,
    private readonly command: Command,
  ) {}

  onSettled(error: Error | null): void {
    const isAnswered =
      error === null ? this.command.extra?.isLeftBlocked !== true : error instanceof ReplyError;
    this.lease.giveBack(this, isAnswered);
  }

  /** Returns the connection now, because the command may settle late on another connection. */
  onTaken(): void {
    this.lease.giveBack(this, this.connection.isUsable);
  }

  onRefused(): void {}
}
