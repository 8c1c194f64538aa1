/**
 * Ends blocking calls at the server whose callers have given up. Otherwise the server would deliver the next
 * element to a call that is no longer awaited. CLIENT UNBLOCK must be sent over another connection, which is
 * opened on demand and kept for a while.
 *
 * Only the oldest unanswered command of the connection can be blocked, and only that one is unblocked. If its
 * element arrives nevertheless, a call that has not settled yet receives it. UNBLOCK may arrive too late and
 * end a later blocking call: that call has not run, so it is sent again.
 */

import type { Command } from "../command/command";
import { LEGACY_SHAPE } from "../command/command-spec";
import type { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import { request } from "../connection/handshake";
import { deadlines } from "../util/deadlines";
import { startTimer, stopTimer } from "../util/scheduling";
import { askForRows, isHeldIn, numberIn, rowOf } from "./client-list";
import type { CredentialSource } from "./credentials";
import type { LinkOptions } from "./link-options";
import { canReach, openBeside, type Peer, type SideConnection } from "./side-connection";

interface BlockedWay {
  readonly connection: Connection | null;
  resend(command: Command): void;
}

/** The time that the server has to end a call before its caller gets null anyway. */
const LONGEST_RECALL_MS = 100;
const IDLE_MS = 10_000;
const LONGEST_PAUSE_MS = 16;

type Outcome = "told" | "not yet" | "impossible";

export class Unblocker {
  /** Calls that were written and given up, oldest first. */
  private recalled: Command[] = [];
  private isRunning = false;
  private side: SideConnection | null = null;
  private idleTimer: NodeJS.Timeout | undefined;
  /** Calls that got an UNBLOCK and still lack its error reply. */
  private told = 0;

  constructor(
    private readonly current: BlockedWay,
    private readonly options: LinkOptions,
    private readonly source: CredentialSource,
  ) {}

  /** The caller of a written command has given up. A command that has not settled resolves with null. */
  recall(command: Command): void {
    const { connection } = this.current;
    const isHere = connection?.state === ConnectionState.Ready;
    if (!command.isSettled) {
      command.ensureExtra().isRecalled = true;
      if (isHere) deadlines.schedule({ onExpired: () => giveUp(command) }, LONGEST_RECALL_MS);
    }
    if (!isHere || !canReach(this.options, connection.socket as Peer | null)) {
      giveUp(command);
      return;
    }
    this.recalled.push(command);
    if (!this.isRunning) void this.run();
  }

  /** Judges an error reply. Returns true when the command has ended, or is sent again. */
  takes(command: Command, error: Error): boolean {
    if (this.told === 0 || !error.message.startsWith("UNBLOCKED")) return false;
    this.told--;
    if (command.isSettled) return true;
    if (command.extra?.isRecalled) tellNull(command);
    else this.current.resend(command);
    return true;
  }

  /** The connection is gone, and its blocked commands with it. */
  stop(): void {
    this.recalled = [];
    this.told = 0;
    this.closeSide();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    stopTimer(this.idleTimer);
    let pauseMs = 1;
    for (let next = this.next(); next !== undefined; next = this.next()) {
      const { connection } = this.current;
      const outcome = await this.tell(connection as Connection, next);
      // The calls of a lost connection have ended with it; those that are recalled by now belong to the next one.
      if (this.current.connection !== connection) continue;
      if (outcome === "impossible") {
        for (const command of this.recalled.splice(0)) giveUp(command);
        this.closeSide();
        continue;
      }
      pauseMs = outcome === "told" ? 1 : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      await pause(pauseMs);
    }
    this.isRunning = false;
    this.recalled = [];
    this.restSide();
  }

  /** The oldest one that is still unanswered. */
  private next(): Command | undefined {
    const { connection } = this.current;
    if (connection?.state !== ConnectionState.Ready) return undefined;
    const { answered } = connection.queue;
    this.recalled = this.recalled.filter(({ extra }) => extra !== null && extra.place >= answered);
    return this.recalled[0];
  }

  private async tell(connection: Connection, command: Command): Promise<Outcome> {
    if (!isFirst(connection, command)) return "not yet";
    const side = await this.openSide();
    if (side === null) return "impossible";
    const { clientId } = connection;
    const rows = await askForRows(side, clientId === null ? [] : [clientId]);
    const row = rowOf(rows ?? [], connection);
    if (row === undefined) return "impossible";
    // The server may not have reached the command yet, or may have answered it meanwhile.
    if (!isHeldIn(row, command.spec.lowerName) || !isFirst(connection, command)) return "not yet";
    this.told++;
    const { value, error } = await request(side, "client", ["unblock", numberIn(row, "id"), "error"]);
    if (value !== 1 && this.told > 0) this.told--;
    if (error !== null) return "impossible";
    return value === 1 ? "told" : "not yet";
  }

  private async openSide(): Promise<Connection | null> {
    if (this.side === null || this.side.connection.state === ConnectionState.Closed) {
      this.side = await openBeside(this.current, this.options, this.source).catch(() => null);
    }
    return this.side === null ? null : this.side.opened();
  }

  private restSide(): void {
    stopTimer(this.idleTimer);
    if (this.side === null) return;
    this.idleTimer = startTimer(() => this.closeSide(), IDLE_MS);
    this.idleTimer.unref();
  }

  private closeSide(): void {
    stopTimer(this.idleTimer);
    this.side?.connection.destroy();
    this.side = null;
  }
}

/** The caller gets null in any case, even if the server is silent. */
function giveUp(command: Command): void {
  if (command.isSettled) return;
  command.ensureExtra().isLeftBlocked = true;
  tellNull(command);
}

function tellNull(command: Command): void {
  command.fulfil(null, LEGACY_SHAPE);
}

/** Whether the next reply belongs to the command. */
function isFirst({ queue }: Connection, { extra }: Command): boolean {
  return extra !== null && extra.place === queue.answered;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    startTimer(resolve, ms).unref();
  });
}
