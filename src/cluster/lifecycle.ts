/**
 * The lifecycle of a cluster client: resolves the start nodes, reads the slot table, opens the router, and
 * starts over when no node is left. Holds the public status and the commands that are issued while the router
 * is closed.
 *
 *   wait -> connecting -> connect -> ready -> close -> reconnecting -> connecting ...
 *                 \___________\________\___> disconnecting -> close -> end
 */

import Denque from "denque";
import { isIndependent } from "../command/batch";
import { type Command, CommandState } from "../command/command";
import { causeOf } from "../command/ending-errors";
import { AlreadyConnectingError, ConnectionClosedError, ReplyError } from "../errors";
import { copyError, OneCause, withOneStack } from "../util/copy-error";
import { addHint, hintOf, isCertain } from "../util/error-hint";
import { atTurnEnd, Delay } from "../util/scheduling";
import {
  ClusterAllFailedError,
  ClusterEndedError,
  ClusterEndedOutcomeUnknownError,
  ClusterNotReadyError,
  ClusterUnavailableError,
  ConnectAbandonedError,
} from "./cluster-errors";
import { membersOf } from "./cluster-transaction";
import type { Seed } from "./discovery";
import type { NodePool } from "./node-pool";
import type { Redirector } from "./redirector";
import type { Refresher } from "./refresher";
import type { RetryQueue } from "./retry-queue";
import type { ClusterRouter } from "./router";

/** Values of `cluster.status`. */
export type ClusterStatus =
  | "wait"
  | "connecting"
  | "connect"
  | "ready"
  | "disconnecting"
  | "close"
  | "reconnecting"
  | "end";

export interface LifecycleOptions {
  readonly enableOfflineQueue?: boolean | undefined;
  readonly enableReadyCheck?: boolean | undefined;
}

export interface LifecycleDeps {
  readonly pool: NodePool;
  readonly retries: RetryQueue;
  readonly router: ClusterRouter;
  readonly redirector: Redirector;
  readonly refresher: Refresher;
  readonly subscriptions: { start(): void; stop(isForGood: boolean): void };
  readonly owner: {
    onStatus(status: ClusterStatus): void;
    onError(error: Error): void;
    /** Milliseconds until the next attempt; any value other than a number gives up. */
    retryDelay(attempts: number, reason: Error | undefined): unknown;
  };
  findSeeds(): Promise<Seed[]>;
  useSeeds(seeds: readonly Seed[]): void;
}

export class Lifecycle {
  status: ClusterStatus = "wait";
  private attempts = 0;
  /** The number of the current attempt to connect; results of earlier attempts are ignored. */
  private epoch = 0;
  private isLeaving = false;
  /** `close` was emitted; the next event is another attempt or the end. */
  private isClosed = false;
  /** The error of the last attempt; the cause of the errors for refused commands. */
  private failure: Error | null = null;
  private retry: Delay | null = null;
  private readonly queue = new Denque<readonly Command[]>();

  constructor(
    private readonly options: LifecycleOptions,
    private readonly deps: LifecycleDeps,
  ) {}

  /** Resolves when ready; rejects when the attempt ends otherwise (retries may continue). */
  connect(): Promise<void> {
    const { status } = this;
    if (status === "connecting" || status === "connect" || status === "ready") {
      return Promise.reject(new AlreadyConnectingError());
    }
    this.retry?.stop();
    this.isLeaving = false;
    this.isClosed = false;
    this.setStatus("connecting");
    return this.attempt(++this.epoch);
  }

  /**
   * Closes all connections; with `isReconnect` the retry strategy decides when to connect again. An attempt
   * that is already scheduled keeps its schedule.
   */
  disconnect(isReconnect = false): void {
    const { status } = this;
    if (status === "end") return;
    if (this.isClosed) {
      this.setStatus("disconnecting");
      if (isReconnect) return;
      this.shut(true);
      this.end();
      return;
    }
    this.shut(!isReconnect);
    this.setStatus("disconnecting");
    const { pool } = this.deps;
    pool.clear();
    if (pool.allClients().length === 0 && this.status === "disconnecting") this.close();
  }

  /**
   * Refuses new commands from now on. Issued commands continue, including redirects and failovers, until `quit`
   * or `disconnect`. Does nothing unless the client is ready.
   */
  drain(): void {
    if (this.status !== "ready") return;
    this.isLeaving = true;
    this.deps.router.isOpen = false;
    this.setStatus("disconnecting");
  }

  get waiting(): Command[] {
    return this.queue.toArray().flat();
  }

  async quit(): Promise<"OK"> {
    const { status } = this;
    if (status === "end") return "OK";
    this.shut(true);
    if (status !== "disconnecting") this.setStatus("disconnecting");
    const clients = this.deps.pool.allClients();
    if (clients.length === 0)
      // The promise of `quit` settles first. The caller may call `connect` or `disconnect` before this runs.
      atTurnEnd(() => {
        if (this.status === "disconnecting" && this.isLeaving) this.onAllClosed();
      });
    await Promise.all(clients.map((client) => client.leave()));
    return "OK";
  }

  onEmpty(): void {
    if (this.status === "connect" || this.status === "ready" || this.isDraining) this.shut(this.isLeaving);
    else if (this.status !== "disconnecting") return;
    this.onAllClosed();
  }

  admit(commands: readonly Command[]): void {
    const { status } = this;
    if (status === "end" || this.isDraining) {
      for (const command of commands) command.fail(new ConnectionClosedError());
      return;
    }
    if (status === "wait") this.connect().catch(() => {});
    if (commands.length === 1 && this.isQuestion(commands[0] as Command)) return;
    if (this.options.enableOfflineQueue === false) {
      for (const command of commands) command.fail(new ClusterNotReadyError());
      return;
    }
    for (const command of commands) if (!command.isSettled) command.state = CommandState.Queued;
    this.queue.push(commands);
  }

  /** New commands are refused, but earlier ones continue. */
  private get isDraining(): boolean {
    return this.status === "disconnecting" && !this.deps.pool.isSealed;
  }

  private setStatus(status: ClusterStatus): void {
    this.status = status;
    this.deps.owner.onStatus(status);
  }

  private onAllClosed(): void {
    // `close` was emitted already if the connections of a failed attempt were still ending.
    if (!this.isClosed) this.close();
    else if (this.isLeaving) this.end();
  }

  private async attempt(epoch: number): Promise<void> {
    const { pool, refresher } = this.deps;
    let seeds: Seed[];
    try {
      seeds = await this.deps.findSeeds();
    } catch (error) {
      this.assertCurrent(epoch);
      this.failure = error as Error;
      if (isCertain(error as Error)) {
        this.failWaiting();
        this.deps.owner.onError(error as Error);
        this.assertCurrent(epoch);
      }
      this.close(error as Error);
      throw error;
    }
    this.assertCurrent(epoch);
    pool.isSealed = false;
    this.deps.useSeeds(seeds);
    try {
      await refresher.refresh(false);
    } catch (error) {
      this.assertCurrent(epoch);
      this.failure = error as Error;
      if (isCertain(error as Error)) this.failWaiting();
      this.deps.owner.onError(error as Error);
      this.failWithoutDatabase(error as Error);
      // A listener may have closed the client and connected it again.
      if (this.epoch === epoch && this.status === "connecting") {
        pool.clear();
        this.close();
      }
      throw new ClusterUnavailableError({ cause: error });
    }
    this.assertCurrent(epoch);
    this.setStatus("connect");
    const cause = this.options.enableReadyCheck === false ? null : await refresher.reasonAgainst();
    this.assertCurrent(epoch);
    if (cause !== null) {
      this.failure = cause;
      this.disconnect(true);
      throw new ClusterUnavailableError({ cause });
    }
    this.open();
  }

  /** The servers do not have the client's database: its commands must not run in another one. */
  private failWithoutDatabase(error: Error): void {
    const reasons = error instanceof ClusterAllFailedError ? Object.values(error.nodeErrors) : [];
    const refusal = reasons.find((one) => one instanceof ReplyError && one.command?.name === "select");
    if (refusal !== undefined) this.failQueue(withOneStack(() => copyError(refusal)));
  }

  private failQueue(nextError: () => Error): void {
    for (let entry = this.queue.shift(); entry !== undefined; entry = this.queue.shift()) {
      for (const command of entry) command.fail(nextError());
    }
  }

  private assertCurrent(epoch: number): void {
    if (epoch !== this.epoch) {
      throw new ConnectAbandonedError("Connection is discarded because a new connection is made");
    }
    if (this.status !== "connecting" && this.status !== "connect") {
      throw this.status === "disconnecting"
        ? new ConnectAbandonedError("Connection is aborted")
        : new ClusterUnavailableError();
    }
  }

  private open(): void {
    const { router, redirector, refresher } = this.deps;
    this.attempts = 0;
    this.failure = null;
    this.setStatus("ready");
    // A listener closed the client.
    if (this.status !== "ready") return;
    redirector.isActive = true;
    router.isOpen = true;
    refresher.start();
    this.deps.subscriptions.start();
    this.deps.retries.resume();
    // User code that runs meanwhile may close the client: the remaining commands wait for the next connect.
    while (router.isOpen) {
      const entry = this.queue.shift();
      if (entry === undefined) return;
      const [first] = entry as [Command];
      if (entry.length > 1 || first.batch !== null) router.dispatchBatch(entry);
      else if (!first.isSettled) router.dispatch(first);
    }
  }

  /** Routes no further commands; a final close also ends retries. */
  private shut(isForGood: boolean): void {
    this.retry?.stop();
    this.deps.router.isOpen = false;
    this.deps.retries.pause();
    this.deps.pool.isSealed = true;
    this.deps.refresher.stop();
    this.isLeaving = isForGood;
    if (isForGood) this.deps.redirector.isActive = false;
  }

  /** @param reason The error, if the start nodes could not be resolved. */
  private close(reason?: Error): void {
    this.isClosed = true;
    this.setStatus("close");
    this.deps.router.watches.clear();
    this.deps.subscriptions.stop(this.isLeaving);
    const { epoch } = this;
    const delayMs = this.isLeaving ? null : this.deps.owner.retryDelay(++this.attempts, reason);
    // The strategy itself ended the client or connected it again.
    if (this.status === "end" || this.epoch !== epoch) return;
    if (typeof delayMs !== "number" || this.isLeaving) {
      this.end();
      return;
    }
    this.setStatus("reconnecting");
    this.retry = new Delay(() => this.connect().catch(() => {}), delayMs);
  }

  private end(): void {
    this.attempts = 0;
    this.deps.redirector.isActive = false;
    this.setStatus("end");
    this.deps.subscriptions.stop(true);
    const cause = new OneCause();
    for (const command of this.deps.retries.takeAll()) endForGood(command, cause);
    this.failWaiting();
  }

  private failWaiting(): void {
    const { failure } = this;
    const hint = failure === null ? null : hintOf(failure);
    this.failQueue(withOneStack(() => addHint(new ClusterUnavailableError(causeOf(failure)), hint)));
  }

  /** CLUSTER subcommands are allowed before the slots are known. */
  private isQuestion(command: Command): boolean {
    const { pool } = this.deps;
    const node = pool.isSealed ? null : pool.sample("all");
    if (!isIndependent(command.batch) || command.spec.lowerName !== "cluster" || node === null) return false;
    pool.clientOf(node).dispatch(command);
    return true;
  }
}

/** Fails a command that waited to be sent again, because the cluster client has ended. */
function endForGood(command: Command, cause: OneCause): void {
  const Failure = command.mayHaveRun ? ClusterEndedOutcomeUnknownError : ClusterEndedError;
  for (const one of membersOf(command)) one.fail(cause.next(Failure.name, () => new Failure()));
}
