/** The members of its client that a lock needs. */

import type { Command } from "../../command/command";
import type { CALLS, LEND, SOURCE } from "../client-base";
import type { LendTerms, Loan } from "../leases/loan";

export interface LockingClient {
  readonly isCluster: boolean;
  readonly options: { readonly keyPrefix?: string | Buffer | undefined };
  /** Of a cluster: the names of the nodes of each slot, master first. */
  readonly slots?: readonly (readonly string[])[];
  /** One object for a client and all its views. */
  readonly [CALLS]: object;
  readonly [SOURCE]: { readonly database: number };
  sendCommand(command: Command): Promise<unknown>;
  [LEND](slot: () => number, terms: LendTerms): Promise<Loan>;
}
