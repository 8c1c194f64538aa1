/**
 * Renews credentials that expire: requests new ones from their source before they expire and sends them with
 * AUTH on the live connection. If the source fails, it is asked again, and the connection stays unchanged. Each
 * new connection starts with new credentials, so this module never reconnects.
 */

import type { Credentials } from "../connection/handshake";
import { CredentialsError } from "../errors";
import { LONGEST_TIMER_MS, startTimer, stopTimer, userDateMs } from "../util/scheduling";

/** Credentials and their expiry. */
export interface ExpiringCredentials extends Credentials {
  /** When they expire: a Date, or milliseconds since 1970. Undefined: never renewed. */
  readonly expiresAt?: Date | number | undefined;
}

/** `connect`: for a new connection; `renewal`: before they expire; `refused`: by the server. */
export type CredentialReason = "connect" | "renewal" | "refused";

export interface CredentialSource {
  /** Called for each connection, and again before they expire. */
  credentials(reason?: CredentialReason): ExpiringCredentials | Promise<ExpiringCredentials>;
}

/**
 * Checks the result of the user's function. If both fields are missing or misspelled, the client would
 * connect as the user `default`, so this is an error. `{}` stands for that user.
 */
export function checkedCredentials(given: unknown): ExpiringCredentials {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new CredentialsError(`It returned ${given === null ? "null" : typeof given}`);
  }
  const { username, password } = given as Record<string, unknown>;
  if (!isText(username)) throw new CredentialsError(`Its "username" is of type ${typeof username}`);
  if (!isText(password)) throw new CredentialsError(`Its "password" is of type ${typeof password}`);
  const isEmpty = (username ?? null) === null && (password ?? null) === null;
  // A Map, a Date or an instance of a class may have no keys either.
  if (isEmpty && (Object.keys(given).length > 0 || !isPlain(given))) {
    throw new CredentialsError(`It returned an object without "username" and "password"`);
  }
  return given;
}

/** Made by a literal, or without a prototype. An object of another realm has its own `Object.prototype`. */
function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function isText(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string" || typeof value === "number";
}

/** When they expire, in milliseconds since 1970; NaN: unknown. */
export function expiryOf({ expiresAt }: ExpiringCredentials): number {
  return Number(expiresAt ?? Number.NaN);
}

export interface CredentialHost {
  /** Sends AUTH on the current connection; null when it cannot be sent now, and `release` follows later. */
  authenticate(credentials: Credentials): Promise<Error | null> | null;
  report(type: string, error: Error): void;
}

/** The share of their lifetime after which they are renewed, as in clients of other languages. */
const RENEW_AT = 0.8;
/** The largest random share by which a renewal is earlier, so that many processes do not renew together. */
const JITTER = 0.05;
/** In ms: the time limit of a call of the source. Equals the default of `connectTimeout`. */
export const LONGEST_CALL_MS = 10_000;
/** The delay between attempts after the source has failed. */
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;

export class CredentialRenewal {
  private timer: NodeJS.Timeout | undefined;
  private round = 0;
  private retryMs = FIRST_RETRY_MS;
  /** New credentials that AUTH could not send yet: a transaction opened by hand, or RESP2 subscriber mode. */
  private held: ExpiringCredentials | null = null;

  constructor(
    private readonly host: CredentialHost,
    private readonly source: CredentialSource,
  ) {}

  /** The connection is ready and was opened with these credentials. */
  start(credentials: ExpiringCredentials): void {
    this.stop();
    this.retryMs = FIRST_RETRY_MS;
    const expiresAt = expiryOf(credentials);
    if (Number.isNaN(expiresAt)) return;
    const share = RENEW_AT - JITTER * Math.random();
    this.renewIn(Math.max((expiresAt - userDateMs()) * share, FIRST_RETRY_MS));
  }

  stop(): void {
    this.round++;
    this.held = null;
    stopTimer(this.timer);
  }

  /** The state of the connection has changed: AUTH may be possible now. */
  release(): void {
    const { held } = this;
    if (held === null) return;
    this.held = null;
    void (expiryOf(held) <= userDateMs() ? this.renew() : this.send(held));
  }

  private async renew(): Promise<void> {
    const { round } = this;
    this.renewIn(LONGEST_CALL_MS);
    try {
      const credentials = await this.source.credentials("renewal");
      if (round === this.round) await this.send(credentials);
    } catch (error) {
      if (round === this.round) this.fail(error as Error);
    }
  }

  private async send(credentials: ExpiringCredentials): Promise<void> {
    const { round } = this;
    stopTimer(this.timer);
    const answer = this.host.authenticate(credentials);
    if (answer === null) {
      this.held = credentials;
      return;
    }
    const error = await answer;
    if (round !== this.round) return;
    if (error === null) this.start(credentials);
    else this.fail(error);
  }

  private fail(error: Error): void {
    this.host.report("error", error);
    this.renewIn(this.retryMs);
    this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
  }

  private renewIn(delayMs: number): void {
    stopTimer(this.timer);
    this.timer = startTimer(() => void this.renew(), Math.min(delayMs, LONGEST_TIMER_MS));
    this.timer.unref();
  }
}
