/**
 * Asks a server over a separate connection about another connection that is silent. Determines whether that
 * connection is dead or the server is merely busy. Only the server itself can declare it dead, with its list of
 * clients; replies of an intermediary (a proxy, a connection limit, an access rule) prove nothing.
 */

import type { ConnectionLife } from "../connection/connection";
import { Connection } from "../connection/connection";
import { type Credentials, request } from "../connection/handshake";
import { clockMs, startTimer, stopTimer } from "../util/scheduling";
import { isArriving, isHeld, isHeldIn, numberIn, rowOf } from "./client-list";
import { failRequests } from "./leftovers";
import { connectionOptions, type LinkOptions } from "./link-options";
import { alone, dialAgain, introduce, type Peer } from "./side-connection";
import { Verdict } from "./watchdog";

export interface ProbeTarget {
  readonly options: LinkOptions;
  readonly credentials: Credentials;
  /** The silent connection, and the duration of its silence. */
  readonly connection: Connection;
  readonly silentMs: number;
  readonly timeoutMs: number;
}

/**
 * Errors of sockets whose other side is gone; all others (too many open files, certificates) concern this side.
 */
const GONE = /^(?:ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ETIMEDOUT|ENOENT)$/;
/** Servers report the age and idle time of clients in whole seconds of their own clock. */
const CLOCK_SLACK_MS = 2000;

export class Probe implements ConnectionLife {
  /** Never rejects. */
  readonly verdict: Promise<Verdict>;
  private readonly connection: Connection;
  private settle!: (verdict: Verdict) => void;
  private readonly timer: NodeJS.Timeout;
  /** The connection was accepted. */
  private isAccepted = false;
  private error: NodeJS.ErrnoException | null = null;

  constructor(private readonly target: ProbeTarget) {
    this.connection = new Connection(connectionOptions(target.options), alone(this));
    this.verdict = new Promise((resolve) => {
      this.settle = resolve;
    });
    const { options, connection } = target;
    this.timer = startTimer(() => this.onTimeout(), target.timeoutMs);
    const socket = dialAgain(connection.socket as Peer, options, this.connection.onread);
    // With TLS, long before the connection is open.
    socket.once("connect", () => {
      this.isAccepted = true;
    });
    this.connection.attach(socket);
  }

  /** The result is no longer needed. */
  stop(): void {
    this.conclude(Verdict.Unknown);
  }

  onOpen(): void {
    // Credentials come from outside and may be of any type.
    this.ask().catch(() => this.stop());
  }

  onConnectionError(error: NodeJS.ErrnoException): void {
    this.error = error;
  }

  /** Closed by the other side without a reply, or never accepted. */
  onClose(): void {
    failRequests(this.connection.queue.takeAll());
    const isSilent = this.connection.bytesRead === 0;
    const isGone = this.error === null ? this.isAccepted : GONE.test(this.error.code ?? "");
    this.conclude(isSilent && isGone ? Verdict.Unreachable : Verdict.Unknown);
  }

  private onTimeout(): void {
    // Accepted and silent: busy or paused. Not even accepted: gone.
    this.conclude(this.isAccepted ? Verdict.ServerIsBusy : Verdict.Unreachable);
  }

  private async ask(): Promise<void> {
    const { options, credentials, connection } = this.target;
    const outcome = await introduce(this.connection, options, credentials);
    // It accepts no more connections, or not with these credentials: this says nothing about the other
    // connection.
    if (outcome.kind !== "ready") this.conclude(verdictOnRefusal(outcome));
    else {
      const isSameRun = await this.isSameRun(connection.serverRunId);
      const list = await this.listClients(connection.clientId);
      this.conclude(list === null ? Verdict.Unknown : this.judge(list, isSameRun));
    }
  }

  /** Whether the same run of the same server answers here; null if unknown. */
  private async isSameRun(runId: string | null): Promise<boolean | null> {
    if (runId === null) return null;
    const info = await request(this.connection, "info", ["server"]);
    const found = /\brun_id:(\w+)/.exec(String(info.value ?? ""));
    return found === null ? null : found[1] === runId;
  }

  /** Null if it is unavailable, or does not contain the connection that requested it. */
  private async listClients(clientId: number | null): Promise<string | null> {
    const list = await this.askForClients(clientId);
    const ownId = this.connection.clientId;
    if (list === null || ownId === null || clientId === null) return list;
    return list.split("\n").some((row) => numberIn(row, "id") === ownId) ? list : null;
  }

  private async askForClients(clientId: number | null): Promise<string | null> {
    const ids = [clientId, this.connection.clientId].filter((id) => id !== null).map(String);
    const which = clientId === null ? [] : ["id", ...ids];
    const answer = await request(this.connection, "client", ["list", ...which]);
    if (answer.error === null) return String(answer.value);
    // Before 6.2 the list has no filters.
    if (clientId === null || !/syntax/i.test(answer.said)) return null;
    const whole = await request(this.connection, "client", ["list"]);
    return whole.error === null ? String(whole.value) : null;
  }

  private judge(list: string, isSameRun: boolean | null): Verdict {
    if (isSameRun === false) return Verdict.Unknown;
    const { connection, silentMs } = this.target;
    const rows = list.split("\n").filter((row) => row.includes(" qbuf="));
    const row = rowOf(rows, connection);
    if (row === undefined) {
      // The server may hold another client in the command that the silent connection waits for.
      const awaited = connection.queue.head()?.spec.lowerName;
      if (isSameRun === true && connection.clientId !== null) return Verdict.ConnectionIsDead;
      return rows.some((one) => isHeldIn(one, awaited)) ? Verdict.ServerIsBusy : Verdict.Unknown;
    }
    const ageMs = numberIn(row, "age") * 1000;
    const idleMs = numberIn(row, "idle") * 1000;
    const livedMs = clockMs() - connection.readyAtMs;
    // Client IDs are unique only within one server.
    if (!(ageMs >= livedMs - CLOCK_SLACK_MS)) return Verdict.Unknown;
    // Held (pause, script), or still arriving.
    if (isHeld(row) || isArriving(row)) return Verdict.ServerIsBusy;
    return idleMs >= silentMs - CLOCK_SLACK_MS ? Verdict.ConnectionIsDead : Verdict.Served;
  }

  private conclude(verdict: Verdict): void {
    // The first verdict counts.
    this.settle(verdict);
    stopTimer(this.timer);
    this.connection.destroy();
  }
}

function verdictOnRefusal(outcome: { kind: string; error?: Error }): Verdict {
  const isAtWork = outcome.error === undefined || /^(?:BUSY|LOADING)/.test(outcome.error.message);
  return isAtWork ? Verdict.ServerIsBusy : Verdict.Unknown;
}
