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
import { estimateSum, sizeOf } from "../command/size";
import { ReplyError } from "../errors";

/** One extra connection. */
export interface LeasedConnection extends Dispatcher {
  /** False once it has given up reconnecting. */
  readonly isUsable: boolean;
  /** Runs what follows on this database. */
  useDb(db: number): void;
  close(): void;
}

export interface LeaseOwner {
  /** `onTaken` is called when the command that has the connection goes on elsewhere. */
  makeConnection(onTaken: () => void): LeasedConnection;
  /** Database that the next command is issued for. */
  currentDb(): number;
  /** The next command belongs on the shared connection, whatever it is. */
  isBoundToShared(): boolean;
}

export class BlockingLease implements Dispatcher {
  /** All connections, with who has them. */
  private readonly connections = new Map<LeasedConnection, GiveBack | null>();
  private idle: LeasedConnection[] = [];
  private readonly waiting = new Denque<Command>();

  constructor(
    /** Replaced when auto-pipelining is switched on or off. */
    public next: Dispatcher,
    /** Most extra connections; further blocking commands wait for one. */
    private readonly maxConnections: number,
    private readonly owner: LeaseOwner,
  ) {}

  dispatch(command: Command): void {
    if (this.isForLease(command)) this.lend(command);
    else this.next.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    const only = commands.length === 1 ? commands[0] : undefined;
    // A single command that passes by the auto-pipeliner.
    if (only?.batch === null && this.isForLease(only)) this.lend(only);
    else this.next.dispatchBatch(commands);
  }

  /** Commands that wait for an extra connection. */
  get waitingCount(): number {
    return this.waiting.length;
  }

  /** Bytes of them, estimated from a few. */
  get waitingBytes(): number {
    return estimateSum(this.waiting.length, (index) => sizeOf(this.waiting.peekAt(index) as Command));
  }

  /** Ends all extra connections and what blocks on them. `refuse` gets what still waits for one. */
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
    // Commands that go on elsewhere may settle late, or never without a connection: it is free at once.
    const connection: LeasedConnection = this.owner.makeConnection(() => {
      const hook = this.connections.get(connection);
      if (hook) this.giveBack(hook, connection.isUsable);
    });
    this.connections.set(connection, null);
    return connection;
  }

  /** A command has settled or left; a connection that was closed or lent again meanwhile is left alone. */
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
