/**
 * The extra connections of one client. A connection is idle or has one borrower. Idle connections serve the next
 * borrower, and close after a while. The pool has no limit: each kind of borrower has its own (`Quota`), so
 * that blocking commands and leases do not starve each other.
 */

import type { Dispatcher } from "../command/dispatcher";
import { clockMs, startTimer, stopTimer } from "../util/scheduling";

/** The pool of leased connections. */
export interface LeaseLimits {
  /** Limit of the connections that are leased at the same time. Default 10. */
  readonly max?: number | undefined;
  /** The time that `lease()` waits for a connection. Default 10000 ms. */
  readonly waitMs?: number | undefined;
  /** The idle time after which a connection is closed. Default 30000 ms. */
  readonly idleMs?: number | undefined;
}

/** The current user of a connection. */
export interface Borrower {
  /** Its commands depend on this connection, so a cluster must not send them elsewhere. */
  readonly isBound: boolean;
  /** A command of the connection has moved to another one, or the connection was closed. */
  onTaken(): void;
  /** The server has answered a command of a bound borrower with an error. */
  onRefused(error: Error): void;
}

export interface ExtraConnection extends Dispatcher {
  /** Null while it is idle, and after it was closed. */
  borrower: Borrower | null;
  /** False once it has given up reconnecting. */
  readonly isUsable: boolean;
  /** Selects this database for later commands. */
  useDb(db: number): void;
  close(): void;
}

interface Idle<Connection> {
  readonly connection: Connection;
  readonly sinceMs: number;
}

export class ConnectionPool<Connection extends ExtraConnection> {
  private readonly open = new Set<Connection>();
  /** The connection that was used last is at the end, and is used next. */
  private idle: Idle<Connection>[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly make: () => Connection,
    private readonly idleMs: number,
  ) {}

  /** All open connections. */
  get connections(): readonly Connection[] {
    return [...this.open];
  }

  take(db: number, borrower: Borrower): Connection {
    const connection = this.takeIdle() ?? this.make();
    this.open.add(connection);
    connection.borrower = borrower;
    connection.useDb(db);
    return connection;
  }

  /** Ends a borrowing. `isClean`: the connection has no state of this borrower. */
  giveBack(connection: Connection, isClean: boolean): void {
    connection.borrower = null;
    if (isClean && connection.isUsable) {
      this.idle.push({ connection, sinceMs: clockMs() });
      this.watchIdle(this.idleMs);
    } else this.close(connection);
  }

  close(connection: Connection): void {
    const { borrower } = connection;
    this.open.delete(connection);
    connection.borrower = null;
    connection.close();
    borrower?.onTaken();
  }

  closeIdle(): void {
    for (const { connection } of this.idle.splice(0)) this.close(connection);
    stopTimer(this.timer);
    this.timer = undefined;
  }

  private takeIdle(): Connection | undefined {
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) {
      if (last.connection.isUsable) return last.connection;
      this.close(last.connection);
    }
    return undefined;
  }

  private watchIdle(delayMs: number): void {
    if (this.timer !== undefined || !Number.isFinite(delayMs)) return;
    this.timer = startTimer(() => {
      this.timer = undefined;
      const now = clockMs();
      while (this.idle.length > 0 && now - (this.idle[0] as Idle<Connection>).sinceMs >= this.idleMs) {
        this.close((this.idle.shift() as Idle<Connection>).connection);
      }
      const [oldest] = this.idle;
      if (oldest !== undefined) this.watchIdle(Math.max(1, oldest.sinceMs + this.idleMs - now));
    }, delayMs);
    this.timer.unref();
  }
}
