/**
 * One lease of one connection: it passes commands on, refuses them after the release, and returns the connection
 * without state of the lessee, or closed.
 */

import { type Command, Origin } from "../../command/command";
import { CommandFlag } from "../../command/command-spec";
import { flagsFor } from "../../command/command-table";
import type { Dispatcher } from "../../command/dispatcher";
import { ownCommand } from "../../command/own-command";
import { PromiseCompletion } from "../../command/promise-completion";
import { ReplyError } from "../../errors";
import type { Borrower } from "../../leases/connection-pool";
import { LeaseAbortedError, LeaseReleasedError } from "../../leases/lease-errors";
import { SessionChanges } from "../../leases/session-changes";
import type { Link } from "../../link/link";
import { listenToAbort, stopListening } from "../../util/abort-listeners";
import { within } from "../../util/scheduling";
import type { PooledConnection } from "./pooled-connection";

/** The time for the commands that undo the changes of a lessee; then the connection is closed. */
const CLEAN_UP_MS = 1000;
/** The error of Valkey 8 and later for UNSUBSCRIBE without a subscription. Nothing has to be undone. */
const NOT_SUBSCRIBED = /^NOSUB /;

/** How a connection is lent. */
export interface LendTerms {
  /** The time to wait for a connection, instead of the one of the option `leases`. */
  readonly waitMs?: number | undefined;
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The database for a feature of the client, instead of the selected one. The limit of the option `leases`
   * does not apply.
   */
  readonly ownDb?: number | undefined;
  /** Notes the writes of the lessee, so that reads of the client from replicas do not miss them. */
  readonly notes?: Notes | null | undefined;
}

interface Notes {
  note(command: Command): void;
}

/** Takes the connection back. */
export interface Lessor {
  onReleased(loan: Loan, isClean: boolean): void;
  /** The server has answered a command with an error; a cluster learns from redirects. */
  onRefused(error: Error): void;
}

export class Loan implements Dispatcher, Borrower {
  readonly isBound = true;
  private readonly changes = new SessionChanges();
  private ended: Promise<void> | null = null;
  connection!: PooledConnection;

  constructor(
    private readonly lessor: Lessor,
    private readonly notes: Notes | null = null,
  ) {}

  get link(): Link {
    return this.connection.link;
  }

  dispatch(command: Command): void {
    if (this.ended !== null) {
      command.fail(new LeaseReleasedError());
      return;
    }
    this.note(command);
    this.connection.dispatch(command);
  }

  dispatchBatch(commands: readonly Command[]): void {
    if (this.ended !== null) {
      for (const command of commands) this.dispatch(command);
      return;
    }
    for (const command of commands) this.note(command);
    this.connection.dispatchBatch(commands);
  }

  onTaken(): void {}

  onRefused(error: Error): void {
    this.lessor.onRefused(error);
  }

  /** Ends the lease. Resolves when the connection is clean or closed. */
  release(): Promise<void> {
    this.ended ??= this.cleanUp().then((isClean) => {
      this.connection.listener?.onEnd();
      this.connection.listener = null;
      this.lessor.onReleased(this, isClean);
    });
    return this.ended;
  }

  /** Sends QUIT after the issued commands; resolves when they are answered. */
  async leave(): Promise<void> {
    if (this.link.status === "ready" && !this.isBlocked) await this.run("quit").catch(() => {});
  }

  private note(command: Command): void {
    this.changes.note(command);
    this.notes?.note(command);
  }

  private async cleanUp(): Promise<boolean> {
    const { link, changes, connection } = this;
    if (changes.isLasting || !connection.isUsable || this.isBlocked) return false;
    const names = changes.undo();
    // Waits for the commands that are still unanswered.
    if (names.length === 0 && !link.isIdle) names.push("unwatch");
    // The server may have refused a MULTI or EXEC meanwhile, so `isLasting` is checked again.
    const isUndone = names.length === 0 || (await within(CLEAN_UP_MS, this.runAll(names), false));
    if (!isUndone || changes.isLasting) return false;
    link.session.clear();
    return true;
  }

  private async runAll(names: readonly string[]): Promise<boolean> {
    try {
      // One by one: a subscriber of RESP2 may send UNWATCH only after the reply to UNSUBSCRIBE.
      for (const name of names) await this.run(name);
      return true;
    } catch {
      return false;
    }
  }

  private async run(name: string): Promise<void> {
    const completion = new PromiseCompletion();
    this.connection.dispatch(ownCommand(Origin.Client, name, [], completion));
    await completion.promise.catch((error: Error) => {
      if (!(error instanceof ReplyError && NOT_SUBSCRIBED.test(error.message))) throw error;
    });
  }

  /** True if an unanswered command may block the connection for any length of time. */
  private get isBlocked(): boolean {
    const { connection, offline } = this.link;
    for (const { spec, args } of [...offline.pending(), ...(connection?.queue.pending() ?? [])]) {
      if ((flagsFor(spec, args) & CommandFlag.Blocking) !== 0) return true;
    }
    return false;
  }
}

/** Waits for a loan. One that is lent after the abort is released. */
export function unlessAborted(lending: Promise<Loan>, signal: AbortSignal): Promise<Loan> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(new LeaseAbortedError(signal.reason));
      lending.then(
        (loan) => loan.release(),
        () => {},
      );
    };
    listenToAbort(signal, onAbort);
    const settle = (): void => stopListening(signal, onAbort);
    lending.then(settle, settle);
    lending.then(resolve, reject);
  });
}
