/**
 * After a failover a connection may lead to a server that cannot serve: a former master
 * (READONLY), a replica without its master (MASTERDOWN), one that loads its data (LOADING).
 * None of these ran the command, so the link reconnects, resolves the address again and sends
 * it once more. When that does not help, the error goes to the caller, and the next try waits:
 * whoever writes to a replica on purpose sees the error and keeps the connection.
 */

import { BatchKind } from "../command/batch";
import type { Command } from "../command/command";
import { ConnectionState } from "../connection/connection-state";
import type { Link } from "./link";

const WRONG_SERVER = /^(READONLY|MASTERDOWN|LOADING) /;
const FIRST_QUIET_MS = 1000;
const LONGEST_QUIET_MS = 30_000;

export class WrongServer {
  private quietMs = FIRST_QUIET_MS;
  private lastLeftMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly link: Link) {}

  /** True when the command goes again after the reconnect. */
  leaves(command: Command, error: Error): boolean {
    const { options, connection } = this.link;
    if (!WRONG_SERVER.test(error.message) || options.readOnly || options.role === "slave") return false;
    if (typeof options.reconnectOnError === "function" || typeof options.retryStrategy !== "function")
      return false;
    if (connection?.state !== ConnectionState.Draining && !this.mayLeave()) return false;
    if (connection?.state === ConnectionState.Ready) this.link.disconnect(true);
    // The rest of its transaction is discarded by the server; its caller retries it as a whole.
    if (command.group?.kind === BatchKind.Transaction) return false;
    this.link.requeue(command);
    return true;
  }

  /** A connection is ready: leaving the other one was worth it if this leads to a master. */
  onArrival(role: string | undefined): void {
    if (role === "master") this.quietMs = FIRST_QUIET_MS;
  }

  private mayLeave(): boolean {
    const nowMs = performance.now();
    const sinceMs = nowMs - this.lastLeftMs;
    if (sinceMs < this.quietMs) return false;
    this.quietMs =
      sinceMs > 2 * LONGEST_QUIET_MS ? FIRST_QUIET_MS : Math.min(this.quietMs * 2, LONGEST_QUIET_MS);
    this.lastLeftMs = nowMs;
    return true;
  }
}
