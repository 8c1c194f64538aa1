/**
 * `socketTimeout`: ends a connection on which commands are outstanding and no byte arrives. An idle connection
 * never times out. It uses the coarse timer and starts it on writes, so reading costs nothing.
 */

import { type Deadline, deadlines, type Expiring } from "../util/deadlines";
import { clockMs } from "../util/scheduling";

/** The members of its connection that it needs. */
export interface TimedConnection {
  readonly queue: { readonly inFlight: number };
  readonly lastActivityMs: number;
}

export class SocketTimeout implements Expiring {
  private deadline: Deadline | null = null;

  constructor(
    private readonly connection: TimedConnection,
    private readonly timeoutMs: number,
    private readonly onTimeout: () => void,
  ) {}

  /** Starts the timer after a write. */
  windUp(): void {
    this.deadline ??= deadlines.schedule(this, this.timeoutMs);
  }

  stop(): void {
    if (this.deadline !== null) deadlines.cancel(this.deadline);
    this.deadline = null;
  }

  onExpired(): void {
    this.deadline = null;
    const { queue, lastActivityMs } = this.connection;
    if (queue.inFlight === 0) return;
    const leftMs = lastActivityMs + this.timeoutMs - clockMs();
    if (leftMs > 0) this.deadline = deadlines.schedule(this, leftMs);
    else this.onTimeout();
  }
}
