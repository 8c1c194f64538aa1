/**
 * Determines whether the current connection of a link is alive: connects the watchdog with the link, probes the
 * peer, checks a silent connection before a command is written to it, and resets a dead connection.
 */

import { type Command, Origin } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import { completionOf, ownCommand } from "../command/own-command";
import type { Connection, SilenceListener } from "../connection/connection";
import { serverFor } from "../connection/flush-encoder";
import { DeadConnectionError, ReplyError, ServerBusyError } from "../errors";
import { type ConnectionContext, connectionChannel } from "../observability/work-channels";
import { LineCheck } from "./line-check";
import { LINK_DEFAULTS } from "./link-defaults";
import type { LinkDeps, LinkOptions } from "./link-options";
import type { LinkMode } from "./link-state";
import { Probe } from "./probe";
import { canReach, type Peer } from "./side-connection";
import { Verdict, Watchdog, type WatchdogOwner } from "./watchdog";

/**
 * After this many times the watchdog's silence limit, the next command first checks whether the connection is
 * alive.
 */
const SILENCES_BEFORE_DOUBT = 2;

function beginProbe({ tracer, counts }: Pick<LinkDeps, "tracer" | "counts">): ConnectionContext | null {
  if (!connectionChannel.isHeard) return null;
  const epoch = counts.attempts - 1;
  return connectionChannel.begin({ operation: "probe", epoch, ...serverFor(tracer) });
}

/** The link whose connections are probed. */
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

export class Liveness implements WatchdogOwner, SilenceListener {
  private readonly watchdog: Watchdog | null;
  private probing: Probe | null = null;
  private check: LineCheck | null = null;
  readonly doubtAfterMs: number;
  /** A connection that must not be checked: its user has no right to PING. */
  private refused: Connection | null = null;

  constructor(
    private readonly link: ProbedLink,
    private readonly owner: Pick<LinkDeps, "credentials" | "counts" | "tracer">,
  ) {
    const { watchdog } = link.options;
    const idleMs = watchdog === false ? 0 : (watchdog?.idleMs ?? LINK_DEFAULTS.watchdog.idleMs);
    this.watchdog = idleMs > 0 ? new Watchdog(idleMs, this) : null;
    this.doubtAfterMs = idleMs * SILENCES_BEFORE_DOUBT;
  }

  start(connection: Connection): void {
    if (this.watchdog === null) return;
    this.watchdog.attach(connection);
    connection.silenceListener = this;
  }

  /** `first` follows a silence: unless it is inside a transaction, a PING precedes it. */
  onSilence(silentMs: number, first: Command | undefined): void {
    const { connection, server, mode, isWritable, session } = this.link;
    if (connection === null || mode !== "normal" || !isWritable) return;
    // Within a transaction opened by hand PING would be a member of it. The session has recorded the first
    // command already.
    const { flags } = first?.spec ?? { flags: 0 };
    const isInside = session.isInTransaction && (flags & CommandFlag.Multi) === 0;
    if (isInside || (flags & TRANSACTION_END) !== 0) return;
    this.check = new LineCheck(connection, (limitMs) =>
      this.link.reset(new DeadConnectionError(server, silentMs, true, limitMs)),
    );
  }

  /** No check runs until `start`. */
  stop(): void {
    const { connection } = this.link;
    if (connection !== null) connection.silenceListener = null;
    this.watchdog?.stop();
    this.probing?.stop();
    this.probing = null;
    this.check?.stop();
    this.check = null;
  }

  async probe(connection: Connection, silentMs: number): Promise<Verdict> {
    const { options } = this.link;
    if (!canReach(options, connection.socket as Peer | null)) return Verdict.Unknown;
    try {
      const timeoutMs =
        (options.watchdog || undefined)?.probeTimeoutMs ?? LINK_DEFAULTS.watchdog.probeTimeoutMs;
      const credentials = (await this.owner.credentials()) ?? {};
      if (this.link.connection !== connection) return Verdict.Unknown;
      this.owner.counts.probes++;
      const context = beginProbe(this.owner);
      this.probing = new Probe({ options, credentials, connection, silentMs, timeoutMs });
      const verdict = await this.probing.verdict;
      if (context !== null) {
        context.verdict = verdict;
        connectionChannel.settle(context);
      }
      return verdict;
    } catch {
      return Verdict.Unknown;
    }
  }

  onDeadConnection(silentMs: number, isReachable: boolean): void {
    this.link.reset(new DeadConnectionError(this.link.server, silentMs, isReachable));
  }

  onBusyServer(silentMs: number, isKnown: boolean): void {
    this.link.report("busy", new ServerBusyError(this.link.server, silentMs, isKnown));
  }

  isListening(connection: Connection): boolean {
    return !this.link.subscriptions.isEmpty && connection !== this.refused;
  }

  /**
   * A client that only listens waits for no reply, so it sends a PING: its reply becomes overdue if the
   * connection is dead.
   */
  onQuiet(connection: Connection): void {
    const isIdle = connection.isWritable && connection.queue.length === 0;
    if (!isIdle || this.link.session.isInTransaction) return;
    const completion = completionOf((error) => {
      if (error instanceof ReplyError) this.refused = connection;
    });
    connection.dispatch(ownCommand(Origin.Connection, "ping", [], completion));
  }
}
