/**
 * Determines whether the current connection of a link is alive. When its oldest unanswered command is overdue and no byte
 * was received or sent, it asks the server over a second connection. It resets the connection only if the
 * server's own report shows that it is dead, or if the server accepts no new connections. In all other cases
 * it waits, reports that once, and leaves the rest to TCP. The server holds some commands on purpose:
 * blocking ones, WAIT, CLIENT PAUSE, a slow script. They are not taken for a dead connection before their own
 * timeout has passed.
 *
 * If no reply is due, silence proves nothing and no checks run. A client that listens for messages sends a PING, which
 * becomes overdue. After a long silence, a PING precedes the next command: the process may have been suspended, and the
 * network may have dropped the connection meanwhile. The command is written after the reply, so its outcome is never in
 * doubt. Without a reply within a few round trips the connection is dead.
 */

import { blockingTimeMs } from "../command/blocking";
import { type Command, Origin } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import { flagsFor } from "../command/command-table";
import { completionOf, ownCommand } from "../command/own-command";
import type { Connection, SilenceListener } from "../connection/connection";
import { serverFor } from "../connection/flush-encoder";
import { ConnectionClosedError, DeadConnectionError, ReplyError, ServerBusyError } from "../errors";
import { connectionChannel } from "../observability/work-channels";
import { atTurnEnd, clockMs, startTimer, stopTimer } from "../util/scheduling";
import { type Looker, sharedIntervals } from "../util/shared-interval";
import { LINK_DEFAULTS } from "./link-defaults";
import type { LinkDeps, LinkOptions } from "./link-options";
import type { LinkMode } from "./link-state";
import { probe, type Verdict } from "./probe";
import { canReach, LONGEST_ANSWER_MS, openBeside, type Peer, type SideConnection } from "./side-connection";

/** After a silence of this many times `idleMs`, a PING precedes the next command. */
const SILENCES_BEFORE_DOUBT = 2;
/**
 * The limit for the reply: as long as three handshakes, at least this long and at most `LONGEST_ANSWER_MS`. A distant
 * server needs more than the lower bound.
 */
const LEAST_LIMIT_MS = 200;
const HANDSHAKES = 3;
/**
 * A server that is overloaded, at its connection limit or about to leave a load balancer refuses new
 * connections for a moment and still serves existing ones.
 */
const REFUSALS_IN_A_ROW = 3;

export interface ProbedLink {
  readonly options: LinkOptions;
  readonly connection: Connection | null;
  readonly server: string;
  readonly mode: LinkMode;
  readonly isWritable: boolean;
  readonly subscriptions: { readonly isEmpty: boolean };
  readonly session: { readonly isInTransaction: boolean };
  reset(error: Error): void;
  report(type: string, error: Error): void;
}

export class Liveness implements Looker, SilenceListener {
  readonly doubtAfterMs: number;
  isAsleep = false;
  /** The silence after which the server is asked; 0: never. */
  private readonly idleMs: number;
  /** A little less than half the time, so that a request sent at one check is overdue three checks later. */
  private readonly periodMs: number;
  private connection: Connection | null = null;
  private side: SideConnection | null = null;
  /** The limit for the reply to the PING before a command. */
  private pingTimer: NodeJS.Timeout | undefined;
  private arrival: NodeJS.Timeout | undefined;
  private isProbing = false;
  private hasTold = false;
  private refusals = 0;
  private wasServed = false;
  /** The bytes that the system had not sent at the last check, and when that number last changed. */
  private queuedBytes = 0;
  private drainedAtMs = 0;
  /** A connection that must not be checked: its user has no right to PING. */
  private refused: Connection | null = null;

  constructor(
    private readonly link: ProbedLink,
    private readonly owner: Pick<LinkDeps, "credentials" | "counts" | "tracer">,
  ) {
    const { watchdog } = link.options;
    this.idleMs = watchdog === false ? 0 : (watchdog?.idleMs ?? LINK_DEFAULTS.watchdog.idleMs);
    this.periodMs = Math.max(10, this.idleMs / 2.5);
    this.doubtAfterMs = this.idleMs * SILENCES_BEFORE_DOUBT;
  }

  start(connection: Connection): void {
    if (!(this.idleMs > 0)) return;
    this.connection = connection;
    connection.silenceListener = this;
    this.forget();
    this.queuedBytes = 0;
    this.drainedAtMs = 0;
    this.wake();
  }

  /** No check runs until `start`. */
  stop(): void {
    sharedIntervals.leave(this, this.periodMs);
    stopTimer(this.arrival);
    if (this.connection !== null) this.connection.silenceListener = null;
    this.connection = null;
    this.side?.connection.destroy(new ConnectionClosedError());
    this.side = null;
    this.stopPing();
  }

  wake(): void {
    this.isAsleep = false;
    if (this.connection !== null) sharedIntervals.join(this, this.periodMs);
  }

  /** `first` follows a silence: unless it is inside a transaction, a PING precedes it. */
  onSilence(silentMs: number, first: Command | undefined): void {
    const { connection, mode, isWritable, session } = this.link;
    if (connection === null || mode !== "normal" || !isWritable) return;
    // Within a transaction opened by hand PING would be a member of it. The session has recorded the first
    // command already.
    const { flags } = first?.spec ?? { flags: 0 };
    const isInside = session.isInTransaction && (flags & CommandFlag.Multi) === 0;
    if (isInside || (flags & TRANSACTION_END) !== 0) return;
    this.pingFirst(connection, silentMs);
  }

  /** One check. Idle connections are checked once together, and do not wake the process after that. */
  look(): boolean {
    const { connection, link } = this;
    if (connection === null) return false;
    if (this.isProbing) return true;
    if (isWaiting(connection)) this.check(connection);
    else if (!link.subscriptions.isEmpty && connection !== this.refused) {
      if (this.silenceOf(connection) >= this.idleMs / 2) this.askWhileListening(connection);
    } else this.isAsleep = connection.queue.length === 0;
    return !this.isAsleep;
  }

  /** Asks the server for its state over a second connection. Never rejects. */
  async probe(connection: Connection, silentMs: number): Promise<Verdict> {
    const { options } = this.link;
    if (!canReach(options, connection.socket as Peer | null)) return "unknown";
    try {
      const timeoutMs =
        (options.watchdog || undefined)?.probeTimeoutMs ?? LINK_DEFAULTS.watchdog.probeTimeoutMs;
      const side = await openBeside(this.link, options, this.owner);
      if (side === null) return "unknown";
      this.side = side;
      const { counts, tracer } = this.owner;
      counts.probes++;
      const verdict = probe(side, connection, silentMs, timeoutMs);
      if (connectionChannel.isHeard) {
        const context = { operation: "probe", epoch: counts.attempts - 1, ...serverFor(tracer) } as const;
        const begun = connectionChannel.begin(context);
        begun.verdict = await verdict;
        connectionChannel.settle(begun);
      }
      return await verdict;
    } catch {
      return "unknown";
    }
  }

  private pingFirst(connection: Connection, silentMs: number): void {
    const wantedMs = connection.handshakeMs * HANDSHAKES;
    const limitMs = Math.min(Math.max(wantedMs, LEAST_LIMIT_MS), LONGEST_ANSWER_MS);
    const seenBytes = connection.bytesRead;
    const expire = (): void => {
      if (this.pingTimer !== timer) return;
      if (connection.bytesRead !== seenBytes) this.goOn(connection);
      else this.link.reset(new DeadConnectionError(this.link.server, silentMs, true, limitMs));
    };
    // After a suspension of the process the timer is due while the reply is unread: reading comes first.
    const timer = startTimer(() => atTurnEnd(expire), limitMs);
    this.pingTimer = timer;
    // Any reply shows that the connection is alive, also an error about missing rights to PING.
    const completion = completionOf((error) => {
      if (this.pingTimer !== timer) return;
      if (error === null || error instanceof ReplyError) this.goOn(connection);
      else this.stopPing();
    });
    connection.sendAhead(ownCommand(Origin.Connection, "ping", [], completion));
  }

  private goOn(connection: Connection): void {
    this.stopPing();
    connection.goOn();
  }

  private stopPing(): void {
    stopTimer(this.pingTimer);
    this.pingTimer = undefined;
  }

  /** Bytes have arrived, or the connection is new. */
  private forget(): void {
    this.hasTold = false;
    this.refusals = 0;
    this.wasServed = false;
  }

  private check(connection: Connection): void {
    this.noteDraining(connection);
    const silentMs = this.silenceOf(connection);
    if (silentMs < this.idleMs + heldMsOf(connection.queue.head())) this.forget();
    else void this.ask(connection, silentMs);
  }

  private async ask(connection: Connection, silentMs: number): Promise<void> {
    this.isProbing = true;
    const seenBytes = connection.bytesRead;
    const verdict = await this.probe(connection, silentMs);
    this.isProbing = false;
    this.noteDraining(connection);
    const isStale = this.connection !== connection || connection.bytesRead !== seenBytes;
    if (isStale || !isWaiting(connection)) return;
    const stillMs = this.silenceOf(connection);
    if (stillMs >= silentMs) this.judge(verdict, stillMs);
  }

  private judge(verdict: Verdict, silentMs: number): void {
    const { link } = this;
    const { server } = link;
    this.refusals = verdict === "unreachable" ? this.refusals + 1 : 0;
    const isLost = verdict === "served" && this.wasServed;
    this.wasServed = verdict === "served";
    // Bytes that the server has written must arrive soon. Messages to a subscriber with a dead connection never
    // do.
    if (this.wasServed && !isLost) {
      this.arrival = startTimer(() => this.look(), this.idleMs / 5);
      this.arrival.unref();
    }
    const isGone = this.refusals >= REFUSALS_IN_A_ROW;
    if (verdict === "dead" || isLost || isGone)
      link.reset(new DeadConnectionError(server, silentMs, !isGone));
    else if (!this.hasTold && (verdict === "busy" || verdict === "unknown")) {
      this.hasTold = true;
      link.report("busy", new ServerBusyError(server, silentMs, verdict === "busy"));
    }
  }

  /** The reply to the PING becomes overdue if the connection is dead. */
  private askWhileListening(connection: Connection): void {
    const isIdle = connection.isWritable && connection.queue.length === 0;
    if (!isIdle || this.link.session.isInTransaction) return;
    const completion = completionOf((error) => {
      if (error instanceof ReplyError) this.refused = connection;
    });
    connection.dispatch(ownCommand(Origin.Connection, "ping", [], completion));
  }

  private silenceOf({ lastActivityMs }: Connection): number {
    return clockMs() - Math.max(lastActivityMs, this.drainedAtMs);
  }

  /** Bytes of a large value that the system accepts are a sign of life, as for the timeouts of sockets. */
  private noteDraining({ socket }: Connection): void {
    const { _handle: handle } = (socket ?? {}) as { _handle?: { writeQueueSize?: number } | null };
    const queuedBytes = handle?.writeQueueSize ?? 0;
    if (queuedBytes !== this.queuedBytes) this.drainedAtMs = clockMs();
    this.queuedBytes = queuedBytes;
  }
}

function isWaiting({ queue }: Connection): boolean {
  return queue.inFlight > 0 && queue.head() !== undefined;
}

/** How long the server may hold the command on purpose. */
function heldMsOf(command: Command | undefined): number {
  if (command === undefined) return 0;
  const flags = flagsFor(command.spec, command.args);
  if ((flags & CommandFlag.Waits) !== 0) return Number.POSITIVE_INFINITY;
  if ((flags & CommandFlag.Blocking) === 0) return 0;
  return blockingTimeMs(command.spec, command.args) || Number.POSITIVE_INFINITY;
}
