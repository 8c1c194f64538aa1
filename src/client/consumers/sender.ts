/**
 * Sends the non-blocking commands of a consumer. Each slot has its own connection of the pool, because SELECT
 * and MULTI of the program change the state of the shared connection.
 */

import type { Command } from "../../command/command";
import { slotOfKey } from "../../command/slot";
import { LEND } from "../client-base";
import type { Loan } from "../leases/loan";
import type { ConsumingClient } from "./consuming-client";

export class Sender {
  private readonly loans = new Map<number, Promise<Loan>>();

  constructor(
    private readonly client: ConsumingClient,
    private readonly db: number,
  ) {}

  /** Sends a command to the server of a key. */
  async send(key: string, command: Command): Promise<unknown> {
    const slot = this.client.isCluster ? slotOfKey(key) : 0;
    const loan = this.loans.get(slot) ?? this.client[LEND](() => slot, { ownDb: this.db });
    this.loans.set(slot, loan);
    try {
      (await loan).dispatch(command);
      return await command.promise;
    } catch (error) {
      // Another node may serve the slot now. After other errors, the pool lends the same connection again.
      if (this.loans.get(slot) === loan) this.loans.delete(slot);
      void release(loan);
      throw error;
    }
  }

  /** Resolves when the connections are returned. */
  async end(): Promise<void> {
    await Promise.all(Array.from(this.loans.values(), release));
  }
}

async function release(lending: Promise<Loan>): Promise<void> {
  const loan = await lending.catch(() => null);
  await loan?.release();
}
