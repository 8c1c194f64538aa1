/**
 * Sends blocking commands over separate connections, so that they never delay the shared one: each leases a
 * connection from a small pool and returns it when it is answered. A dispatcher in front of another; absent
 * without `blockingConnections`. Blocking commands inside explicit batches and transactions use the shared
 * connection, and so do those of a closed client, because the link refuses them.
 */

import Denque from "denque";
import type { Command } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { CommandFlag } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import type { Dispatcher } from "../command/dispatcher";
import { estimateSum, sizeOf } from "../command/size";
import { ReplyError } from "../errors";

/** One extra connection. */
export interface LeasedConnection extends Dispatcher {
  /** False once it has given up reconnecting. */
  readonly isUsable: boolean;
  /** Selects this database for later commands. */
  useDb(db: number): void;
  close(): void;
}

export interface LeaseOwner {
  /** `onTaken` is called when the command on the connection moves to another one. */
  makeConnection(onTaken: () => void): LeasedConnection;
  /** The database of the next command. */
  currentDb(): number;
  /** The next command must use the shared connection. */
  isBoundToShared(): boolean;
}

export class BlockingLease implements Dispatcher {
  /** All connections, with the current lease of each. */
  private readonly connections = new Map<LeasedConnection, GiveBack | null>();
  private idle: LeasedConnection[] = [];
  private readonly waiting = new Denque<Command>();

  constructor(
    /** Replaced when auto-pipelining is switched on or off. */
    public next: Dispatcher,
    /** The most extra connections; further blocking commands wait for one. */
    private readonly maxConnections: number,
    private readonly owner: LeaseOwner,
  ) {}

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
    return this.waiting.length;
  }

  /** The bytes of the waiting commands, estimated from a sample. */
  get waitingBytes(): number {
    return estimateSum(this.waiting.length, (index) => sizeOf(this.waiting.peekAt(index) as Command));
  }

  /** Ends all extra connections with their commands. `refuse` receives the commands that still wait. */
  close(refuse: (commands: readonly Command[]) => void): void {
    const connections = [...this.connections.keys()];
    const waiting = this.waiting.toArray();
    this.waiting.clear();
    this.idle = [];
    this.connections.clear();
    for (const connection of connections) connection.close();
    refuse(waiting);
  }

  private isForLease({ spec, args }: Command): boolean {
    return (flagsFor(spec, args) & CommandFlag.Blocking) !== 0 && !this.owner.isBoundToShared();
  }

  private lend(command: Command): void {
    command.db = this.owner.currentDb();
    this.waiting.push(command);
    this.serve();
  }

  private serve(): void {
    while (this.waiting.length > 0) {
      const connection = this.takeIdle() ?? this.makeConnection();
      if (connection === null) return;
      const command = this.waiting.shift() as Command;
      if (command.isSettled) {
        this.idle.push(connection);
        continue;
      }
      const hook = new GiveBack(this, connection, command);
      this.connections.set(connection, hook);
      command.ensureExtra().addHook(hook);
      connection.useDb(command.db);
      connection.dispatch(command);
    }
  }

  private takeIdle(): LeasedConnection | undefined {
    for (let connection = this.idle.pop(); connection !== undefined; connection = this.idle.pop()) {
      if (connection.isUsable) return connection;
      this.connections.delete(connection);
    }
    return undefined;
  }

  private makeConnection(): LeasedConnection | null {
    if (this.connections.size >= this.maxConnections) return null;
    // A command that has moved elsewhere may settle late, or never without a connection: the connection is free
    // now.
    const connection: LeasedConnection = this.owner.makeConnection(() => {
      const hook = this.connections.get(connection);
      if (hook) this.giveBack(hook, connection.isUsable);
    });
    this.connections.set(connection, null);
    return connection;
  }

  /** A command has settled or moved; a connection that was closed or leased again meanwhile is ignored. */
  giveBack(hook: GiveBack, isReusable: boolean): void {
    const { connection } = hook;
    if (this.connections.get(connection) !== hook) return;
    this.connections.set(connection, null);
    if (isReusable) this.idle.push(connection);
    else {
      // The command failed or timed out here while the server may still hold the connection.
      this.connections.delete(connection);
      connection.close();
    }
    this.serve();
  }
}

class GiveBack implements SettleHook {
  constructor(
    private readonly lease: BlockingLease,
    readonly connection: LeasedConnection,
    private readonly command: Command,
  ) {}

  onFulfilled(): void {
    this.lease.giveBack(this, this.command.extra?.isLeftBlocked !== true);
  }

  onFailed(error: Error): void {
    this.lease.giveBack(this, error instanceof ReplyError);
  }
}
