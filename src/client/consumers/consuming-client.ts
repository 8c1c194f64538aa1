/** The members of its client that a consumer needs, its commands, and the failures that it survives. */

import type { Command } from "../../command/command";
import { makeCommand, prepareArguments } from "../../command/command-factory";
import { specOf } from "../../command/command-table";
import { PromiseCompletion } from "../../command/promise-completion";
import { OptionError, ReplyError, SluiceError } from "../../errors";
import { ConsumerGroupMissingError } from "../../leases/lease-errors";
import type { LEND, SOURCE } from "../client-base";
import type { LendTerms, Loan } from "../leases/loan";

export interface ConsumingClient {
  readonly isCluster: boolean;
  readonly status: string;
  readonly options: { readonly keyPrefix?: string | Buffer | undefined };
  readonly [SOURCE]: { readonly database: number };
  [LEND](slot: () => number, terms: LendTerms): Promise<Loan>;
}

/** Errors of temporary states of a server or cluster, and of a stream that another node serves. */
const PASSING =
  /^(?:ASK|BUSY|CLUSTERDOWN|LOADING|MASTERDOWN|MISCONF|MOVED|NOREPLICAS|OOM|READONLY|TRYAGAIN|UNBLOCKED) /;
const LASTING = [ConsumerGroupMissingError, OptionError];
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

/** Creates a command from prefixed keys. An upper-case name bypasses the transformers of the program. */
export function commandOf(
  name: Uppercase<string>,
  args: readonly (string | number | Buffer)[],
  wantsBuffers = false,
): Command {
  const spec = specOf(name);
  return makeCommand(spec, prepareArguments(spec, [...args]), wantsBuffers, new PromiseCompletion());
}

/** Whether a later attempt may succeed: with a lost or missing connection it may, unless the client has ended. */
export function isPassing(error: unknown, client: ConsumingClient): boolean {
  if (client.status === "end") return false;
  if (error instanceof ReplyError) return PASSING.test(error.message);
  return error instanceof SluiceError && !LASTING.some((one) => error instanceof one);
}

export function isGroupMissing(error: unknown): boolean {
  return error instanceof ReplyError && error.message.startsWith("NOGROUP ");
}

/** The pauses between attempts that fail one after the other. */
export class Pauses {
  private nextMs = FIRST_PAUSE_MS;

  next(): number {
    const pauseMs = this.nextMs;
    this.nextMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    return pauseMs;
  }

  reset(): void {
    this.nextMs = FIRST_PAUSE_MS;
  }
}
