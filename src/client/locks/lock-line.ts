/**
 * The connection of the pool over which the locks of a client and database send their scripts. SELECT and MULTI of the
 * program change the state of the shared connection, and its slow commands would delay renewals. The connections of a
 * cluster have no such state, and its commands follow redirects, so a cluster sends the scripts itself.
 */

import type { Command } from "../../command/command";
import { startTimer, stopTimer } from "../../util/scheduling";
import { CALLS, type ClientBase, LEND, SOURCE } from "../client-base";
import { LeasedConnection } from "../leases/leased-connection";
import type { Loan } from "../leases/loan";
import type { LockingClient } from "./locking-client";

/** The connection returns to the pool after this time without a command. */
const LINGER_MS = 5000;

export interface ScriptSender {
  sendCommand(command: Command): Promise<unknown>;
}

interface Lent {
  readonly loan: Loan;
  readonly own: LeasedConnection;
}

class LockLine implements ScriptSender {
  private lent: Promise<Lent> | null = null;
  private unanswered = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: LockingClient,
    private readonly db: number,
  ) {}

  async sendCommand(command: Command): Promise<unknown> {
    stopTimer(this.timer);
    this.unanswered++;
    try {
      return await (await this.open()).sendCommand(command);
    } finally {
      if (--this.unanswered === 0) {
        this.timer = startTimer(() => this.close(), LINGER_MS);
        this.timer.unref();
      }
    }
  }

  private async open(): Promise<LeasedConnection> {
    this.lent ??= this.lend();
    const { lent } = this;
    const { loan, own } = await lent;
    if (loan.connection.isUsable) return own;
    // Another command may have replaced it meanwhile.
    if (this.lent === lent) this.close();
    return this.open();
  }

  private async lend(): Promise<Lent> {
    try {
      const loan = await this.client[LEND](() => 0, { ownDb: this.db });
      return { loan, own: new LeasedConnection(this.client as unknown as ClientBase, loan) };
    } catch (error) {
      this.lent = null;
      throw error;
    }
  }

  private close(): void {
    const { lent } = this;
    this.lent = null;
    void lent?.then(({ own }) => own.release());
  }
}

/** The connections of each client, by database. */
const lines = new WeakMap<object, Map<number, LockLine>>();

/** The sender for locks in the database that is selected now. */
export function senderFor(client: LockingClient): ScriptSender {
  if (client.isCluster) return client;
  const { database } = client[SOURCE];
  const ofClient = lines.get(client[CALLS]) ?? new Map<number, LockLine>();
  lines.set(client[CALLS], ofClient);
  const line = ofClient.get(database) ?? new LockLine(client, database);
  ofClient.set(database, line);
  return line;
}
