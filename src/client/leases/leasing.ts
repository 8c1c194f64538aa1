/**
 * Leased connections of a client: one pool for `lease()`, `withConnection()`, `transaction()` and blocking
 * commands. A lease ends with its client, at the latest.
 */

import type { Command } from "../../command/command";
import type { Argument } from "../../command/command-spec";
import type { Dispatcher } from "../../command/dispatcher";
import type { ChainableCommander, ExecReply, Known, ReplyRows } from "../../command/generated/signatures";
import { SLOT_COUNT, slotOfKey } from "../../command/slot";
import { ConnectionClosedError, OptionError, ReplyError, WatchLostError } from "../../errors";
import { BlockingLease } from "../../leases/blocking-lease";
import { ConnectionPool, type LeaseLimits } from "../../leases/connection-pool";
import { LeaseAbortedError, LeaseTimeoutError, TransactionConflictError } from "../../leases/lease-errors";
import { Quota } from "../../leases/quota";
import type { Link } from "../../link/link";
import { isTransactionPipeline } from "../../pipeline/pipeline";
import {
  checkArgument,
  checkSettings,
  durationOnly,
  functionOnly,
  keyOnly,
  type SettingChecks,
  signalOnly,
  wholeFrom,
} from "../../util/check-settings";
import { Delay, sleep } from "../../util/scheduling";
import { CHAIN, type ClientBase, LEND } from "../client-base";
import type { MappingOf, ReplyMappingMode } from "../types";
import { LeasedConnection } from "./leased-connection";
import { type LendTerms, type Lessor, Loan, unlessAborted } from "./loan";
import type { PooledConnection } from "./pooled-connection";

export { LeasedConnection } from "./leased-connection";
export type { LendTerms, Loan } from "./loan";
export { PooledConnection } from "./pooled-connection";

/** The connection to lease. */
export interface LeaseOptions {
  /** On a cluster: a key of the node. A client of one server ignores it. */
  key?: string | Buffer | undefined;
  /** On a cluster: a slot of the node, instead of a key. */
  slot?: number | undefined;
  /** Time in milliseconds to wait for a connection. Replaces `waitMs` of the option `leases`. */
  waitMs?: number | undefined;
  /** Aborts the wait: the call rejects with the code `ABORTED_BY_SIGNAL`. */
  signal?: AbortSignal | undefined;
}

export interface TransactionOptions {
  /**
   * Limit of the attempts.
   * @default 10
   */
  attempts?: number | undefined;
}

export interface LeaseOwner {
  makeConnection(): PooledConnection;
}

const DEFAULT_MAX = 10;
const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_IDLE_MS = 30_000;
const DEFAULT_ATTEMPTS = 10;
const TRANSACTION_CHECKS: SettingChecks<TransactionOptions> = { attempts: wholeFrom(1) };
const LEASE_CHECKS: SettingChecks<LeaseOptions> = {
  key: keyOnly,
  slot: (value) =>
    wholeFrom(0)(value) === null && (value as number) < SLOT_COUNT
      ? null
      : `an integer from 0 to ${SLOT_COUNT - 1}`,
  waitMs: durationOnly,
  signal: signalOnly,
};
/** The limit of the random pause before a transaction is repeated. */
const LONGEST_PAUSE_MS = 64;
const REDIRECT = /^(?:MOVED|ASK|TRYAGAIN) /;

/** One call of `lease()`. */
interface Request {
  readonly loan: Loan;
  readonly signal: AbortSignal | undefined;
  readonly delay: Delay;
  isOver: boolean;
  settle(error: Error | null): void;
}

export class Leases {
  private readonly pool: ConnectionPool<PooledConnection>;
  private readonly quota: Quota<Request>;
  private readonly max: number;
  private readonly waitMs: number;
  private readonly loans = new Set<Loan>();
  private blocking: BlockingLease | null = null;

  constructor(
    /** The link of the connection that all callers share. */
    private readonly shared: Link,
    owner: LeaseOwner,
    { max, waitMs, idleMs }: LeaseLimits = {},
  ) {
    this.max = max ?? DEFAULT_MAX;
    this.waitMs = waitMs ?? DEFAULT_WAIT_MS;
    this.pool = new ConnectionPool(() => owner.makeConnection(), idleMs ?? DEFAULT_IDLE_MS);
    this.quota = new Quota(this.max, (request) => this.grant(request));
  }

  /** The dispatcher for blocking commands. */
  forBlocking(next: Dispatcher, max: number): BlockingLease {
    const { shared } = this;
    this.blocking = new BlockingLease(next, max, this.pool, {
      currentDb: () => shared.session.selected.db,
      // A manual transaction, or an undetermined database, requires the shared connection. In the other
      // states, the link decides whether it refuses the command.
      isBoundToShared: () =>
        shared.isLeaving || shared.session.isDelicate || shared.session.isDbOpen || shared.mode !== "normal",
    });
    return this.blocking;
  }

  /** The links of the leased connections. */
  get links(): readonly Link[] {
    return Array.from(this.loans, ({ link }) => link);
  }

  take(onRefused: Lessor["onRefused"], terms: LendTerms): Promise<Loan> {
    const { waitMs = this.waitMs, signal, ownDb, notes } = terms;
    if (this.shared.isLeaving) return Promise.reject(new ConnectionClosedError());
    const onReleased: Lessor["onReleased"] = (loan, isClean) => {
      this.takeBack(loan, isClean);
      if (ownDb === undefined) this.quota.release();
    };
    const loan = new Loan({ onReleased, onRefused }, notes);
    if (ownDb !== undefined) {
      this.lend(loan, ownDb);
      return Promise.resolve(loan);
    }
    return new Promise((resolve, reject) => {
      const request: Request = {
        loan,
        signal,
        delay: new Delay(() => request.settle(new LeaseTimeoutError(this.max, waitMs)), waitMs),
        isOver: false,
        settle: (error) => {
          request.isOver = true;
          request.delay.stop();
          if (error === null) resolve(loan);
          else reject(error);
        },
      };
      this.quota.request(request);
    });
  }

  /** Sends QUIT over the leased connections, after their issued commands. */
  async leave(): Promise<void> {
    this.refuseWaiting();
    this.pool.closeIdle();
    await Promise.all(Array.from(this.loans, (loan) => loan.leave()));
  }

  /** Closes the connections, which ends their commands. Returns the blocking commands that still wait. */
  close(isKept: (connection: PooledConnection) => boolean = () => false): readonly Command[] {
    this.refuseWaiting();
    const waiting = this.blocking?.takeWaiting() ?? [];
    this.pool.closeIdle();
    for (const connection of this.pool.connections) if (!isKept(connection)) this.pool.close(connection);
    return waiting;
  }

  private refuseWaiting(): void {
    for (const request of this.quota.takeWaiting()) {
      if (!request.isOver) request.settle(new ConnectionClosedError());
    }
  }

  private grant(request: Request): boolean {
    const { signal } = request;
    if (signal?.aborted) request.settle(new LeaseAbortedError(signal.reason));
    if (request.isOver) return false;
    this.lend(request.loan, this.shared.session.selected.db);
    request.settle(null);
    return true;
  }

  private lend(loan: Loan, db: number): void {
    loan.connection = this.pool.take(db, loan);
    this.loans.add(loan);
  }

  private takeBack(loan: Loan, isClean: boolean): void {
    this.loans.delete(loan);
    if (loan.connection.borrower === loan) this.pool.giveBack(loan.connection, isClean);
  }
}

/** A client that lends connections. */
export interface LeasingClient<Mode extends ReplyMappingMode> extends ClientBase<Mode> {
  [LEND](slot: () => number, terms: LendTerms): Promise<Loan>;
}

export async function lease<Mode extends ReplyMappingMode>(
  client: LeasingClient<Mode>,
  options: LeaseOptions = {},
): Promise<LeasedConnection<Mode>> {
  checkSettings("lease()", options, LEASE_CHECKS);
  const { waitMs, signal } = options;
  if (signal?.aborted) throw new LeaseAbortedError(signal.reason);
  const lending = client[LEND](() => slotOf(client, options), { waitMs, signal });
  const loan = await (signal === undefined ? lending : unlessAborted(lending, signal));
  return new LeasedConnection<Mode>(client, loan);
}

export async function withConnection<Mode extends ReplyMappingMode, Result>(
  client: LeasingClient<Mode>,
  work: (own: LeasedConnection<Mode>) => Result | Promise<Result>,
  options?: LeaseOptions,
): Promise<Result> {
  checkArgument("withConnection()", "function", work, functionOnly);
  const own = await lease(client, options);
  try {
    return await work(own);
  } finally {
    await own.release();
  }
}

/** The keys to watch. */
export type Keys = string | Buffer | readonly (string | Buffer)[];

/** A transaction that is not sent yet. */
export type Unsent<Mode extends ReplyMappingMode, Rows extends ReplyRows> = ChainableCommander<
  MappingOf<Mode>,
  Known<Rows>
>;

export async function transaction<Mode extends ReplyMappingMode, Rows extends ReplyRows>(
  client: LeasingClient<Mode>,
  keys: Keys,
  work: (own: LeasedConnection<Mode>) => Unsent<Mode, Rows> | Promise<Unsent<Mode, Rows>>,
  options: TransactionOptions = {},
): Promise<ExecReply<Rows>> {
  checkSettings("transaction()", options, TRANSACTION_CHECKS);
  checkArgument("transaction()", "function", work, functionOnly);
  const { attempts = DEFAULT_ATTEMPTS } = options;
  const list = (keyOnly(keys) === null ? [keys] : keys) as readonly (string | Buffer)[];
  checkArgument("transaction()", "keys", list, keysOnly);
  const [key] = list;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    if (attempt > 1) await sleep(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS));
    try {
      const attemptOnce = async (own: LeasedConnection<Mode>): Promise<ExecReply<Rows> | null> => {
        await own.watch(...list);
        const unsent = await work(own);
        checkUnsent(unsent, own);
        return unsent.exec();
      };
      const rows = await withConnection(client, attemptOnce, { key });
      if (rows !== null) return rows;
    } catch (error) {
      // Nothing has run: the keys have lost their watch, or their slot has moved.
      if (!(error instanceof WatchLostError || isRedirect(error)) || attempt === attempts) throw error;
    }
  }
  throw new TransactionConflictError(attempts);
}

function keysOnly(value: unknown): string | null {
  const isList = Array.isArray(value) && value.length > 0 && value.every((key) => keyOnly(key) === null);
  return isList ? null : "a key to watch (a string or a Buffer), or a list of keys";
}

/** Rejects results that would run although a watched key has changed: pipelines, and transactions of other connections. */
function checkUnsent(unsent: unknown, own: Pick<ClientBase, typeof CHAIN>): void {
  if (
    isTransactionPipeline(unsent) &&
    unsent.redis instanceof LeasedConnection &&
    unsent.redis[CHAIN] === own[CHAIN]
  )
    return;
  throw new OptionError(
    "The function of transaction() must return a transaction of the connection that it receives, such as own.multi().incr(key), without exec(). A pipeline, or a transaction of another connection, would run although a watched key has changed.",
  );
}

function isRedirect(error: unknown): boolean {
  if (!(error instanceof ReplyError)) return false;
  return REDIRECT.test(error.message) || error.previousErrors?.some(isRedirect) === true;
}

function slotOf({ options }: Pick<ClientBase, "options">, { key, slot }: LeaseOptions): number {
  if (key !== undefined) return slotOfKey(withPrefix(key, options.keyPrefix));
  if (slot !== undefined) return slot;
  throw new OptionError(
    "lease() of a cluster needs the node of a slot: pass { key } or { slot } from 0 to 16383.",
  );
}

function withPrefix(key: Argument, prefix: Argument | undefined): Argument {
  if (prefix === undefined || prefix.length === 0) return key;
  return Buffer.concat([Buffer.from(prefix), Buffer.from(key)]);
}
