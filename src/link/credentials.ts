/**
 * Credentials that expire: asks their source for fresh ones in good time and sends them with
 * AUTH on the live connection, so that it outlives the old ones. A source that fails is asked
 * again and again; meanwhile the connection stays as it is. Every new connection begins with
 * fresh credentials anyway, so nothing here decides about reconnecting.
 */

import type { Credentials } from "../connection/handshake";
import { LONGEST_TIMER_MS, startTimer, stopTimer, userDateMs } from "../util/scheduling";

/** The answer of the source of the credentials. */
export interface ExpiringCredentials extends Credentials {
  /** When they stop working: a Date, or milliseconds since 1970. Unknown: they are kept. */
  readonly expiresAt?: Date | number | undefined;
}

export interface CredentialSource {
  /** Called for each connection, and again before they expire. */
  credentials(): ExpiringCredentials | Promise<ExpiringCredentials>;
}

export interface CredentialHost {
  /** Sends AUTH on the present connection; null when it cannot be sent now. */
  authenticate(credentials: Credentials): Promise<Error | null> | null;
  onError(error: Error): void;
}

/** Part of their life after which they are renewed, and the longest lead. */
const RENEW_AT = 0.8;
const LONGEST_LEAD_MS = 60_000;
/** Between two tries of a source that failed. */
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
/** While AUTH cannot be sent: inside a transaction opened by hand, or in RESP2 subscriber mode. */
const BUSY_RETRY_MS = 200;

export class CredentialRenewal {
  private timer: NodeJS.Timeout | undefined;
  private round = 0;
  private retryMs = FIRST_RETRY_MS;

  constructor(
    private readonly host: CredentialHost,
    private readonly source: CredentialSource,
  ) {}

  /** The connection is ready and was opened with these. */
  start(credentials: ExpiringCredentials): void {
    this.stop();
    this.retryMs = FIRST_RETRY_MS;
    const expiresAt = Number(credentials.expiresAt ?? Number.NaN);
    if (Number.isNaN(expiresAt)) return;
    const leftMs = expiresAt - userDateMs();
    const delayMs = Math.max(leftMs * RENEW_AT, leftMs - LONGEST_LEAD_MS, FIRST_RETRY_MS);
    this.later(delayMs, () => this.renew());
  }

  /** The connection is gone. */
  stop(): void {
    this.round++;
    stopTimer(this.timer);
  }

  private async renew(): Promise<void> {
    const { round } = this;
    try {
      const credentials = await this.source.credentials();
      if (round === this.round) await this.send(credentials);
    } catch (error) {
      if (round === this.round) this.fail(error as Error);
    }
  }

  private async send(credentials: ExpiringCredentials): Promise<void> {
    const { round } = this;
    const answer = this.host.authenticate(credentials);
    if (answer === null) {
      this.later(BUSY_RETRY_MS, () => this.send(credentials));
      return;
    }
    const error = await answer;
    if (round !== this.round) return;
    if (error === null) this.start(credentials);
    else this.fail(error);
  }

  private fail(error: Error): void {
    this.host.onError(error);
    this.later(this.retryMs, () => this.renew());
    this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
  }

  private later(delayMs: number, work: () => Promise<void>): void {
    this.timer = startTimer(() => void work(), Math.min(delayMs, LONGEST_TIMER_MS));
    this.timer.unref();
  }
}
