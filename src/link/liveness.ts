/**
 * Determines whether the current connection of a link is alive: connects the watchdog with the link, probes the
 * peer, checks a silent connection before a command is written to it, and resets a dead connection.
 */

import { type Command, Origin } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import { completionOf, ownCommand } from "../command/own-command";
import type { Connection, SilenceListener } from "../connection/connection";
import { serverFor } from "../connection/flush-encoder";
import { ConnectionClosedError, DeadConnectionError, ReplyError, ServerBusyError } from "../errors";
import { connectionChannel } from "../observability/work-channels";
import { checkLine } from "./line-check";
import { LINK_DEFAULTS } from "./link-defaults";
import type { LinkDeps, LinkOptions } from "./link-options";
import type { LinkMode } from "./link-state";
import { probe } from "./probe";
import { canReach, openBeside, type Peer, type SideConnection } from "./side-connection";
import { Verdict, Watchdog, type WatchdogOwner } from "./watchdog";

/** After so many silence limits of the watchdog, the next command first checks the connection. */
const SILENCES_BEFORE_DOUBT = 2;

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
  private side: SideConnection | null = null;
  private stopCheck: (() => void) | null = null;
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
    this.stopCheck = checkLine(connection, (limitMs) =>
      this.link.reset(new DeadConnectionError(server, silentMs, true, limitMs)),
    );
  }

  /** No check runs until `start`. */
  stop(): void {
    const { connection } = this.link;
    if (connection !== null) connection.silenceListener = null;
    this.watchdog?.stop();
    this.side?.connection.destroy(new ConnectionClosedError());
    this.side = null;
    this.stopCheck?.();
    this.stopCheck = null;
  }

  async probe(connection: Connection, silentMs: number): Promise<Verdict> {
    const { options } = this.link;
    if (!canReach(options, connection.socket as Peer | null)) return Verdict.Unknown;
    try {
      const timeoutMs =
        (options.watchdog || undefined)?.probeTimeoutMs ?? LINK_DEFAULTS.watchdog.probeTimeoutMs;
      const side = await openBeside(this.link, options, this.owner);
      if (side === null) return Verdict.Unknown;
      this.side = side;
      const { counts, tracer } = this.owner;
      counts.probes++;
      const verdict = probe(side, { connection, silentMs }, timeoutMs);
      if (connectionChannel.isHeard) {
        const context = { operation: "probe", epoch: counts.attempts - 1, ...serverFor(tracer) } as const;
        const begun = connectionChannel.begin(context);
        begun.verdict = await verdict;
        connectionChannel.settle(begun);
      }
      return await verdict;
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

  /** A client that only listens sends a PING: its reply becomes overdue if the connection is dead. */
  onQuiet(connection: Connection): void {
    const isIdle = connection.isWritable && connection.queue.length === 0;
    if (!isIdle || this.link.session.isInTransaction) return;
    const completion = completionOf((error) => {
      if (error instanceof ReplyError) this.refused = connection;
    });
    connection.dispatch(ownCommand(Origin.Connection, "ping", [], completion));
  }
}
