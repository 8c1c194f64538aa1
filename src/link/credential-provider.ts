/**
 * Calls the user's function of the option `credentials`. All connections that need credentials at the same time
 * share one call, across all clients. While the function fails, or does not answer, its last result is used until it
 * expires. It has no timer.
 */

import { userClockMs, userDateMs } from "../util/scheduling";
import { toError } from "../util/user-code";
import {
  type CredentialReason,
  checkedCredentials,
  type ExpiringCredentials,
  expiryOf,
  LONGEST_CALL_MS,
} from "./credentials";

/** The connection for which credentials are needed, as the function of the option `credentials` receives it. */
export interface CredentialRequest {
  /** Host of the server. Undefined while a Sentinel has not named it, and for a unix socket. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** The connection uses TLS. */
  readonly tls: boolean;
  readonly reason: CredentialReason;
}

/** A function that returns the current credentials. */
export type CredentialsProvider = (
  request: CredentialRequest,
) => ExpiringCredentials | Promise<ExpiringCredentials>;

interface Obtained {
  /** The number of the call that returned them. */
  readonly call: number;
  readonly credentials: ExpiringCredentials;
  /** Wall-clock time like `expiresAt`: both include system suspension and follow changes of the clock. */
  readonly atMs: number;
}

/** A renewal takes the credentials that another connection has obtained within this share of their lifetime. */
const FRESH_SHARE = 0.5;

class SharedProvider {
  private asking: Promise<ExpiringCredentials> | null = null;
  private askedAtMs = 0;
  private askedBecause: CredentialReason = "connect";
  private calls = 0;
  private last: Obtained | null = null;
  /** A call was repeated because it had no answer, and none has settled since. */
  private isSilent = false;

  constructor(private readonly provide: CredentialsProvider) {}

  ask(request: CredentialRequest): Promise<ExpiringCredentials> {
    if (request.reason === "renewal" && this.isFresh()) return Promise.resolve(this.lastCredentials());
    const nowMs = userClockMs();
    const isLate = this.asking !== null && nowMs - this.askedAtMs >= LONGEST_CALL_MS;
    this.isSilent ||= isLate;
    // The answer to a call from before the refusal may be refused too.
    const isRefused = request.reason === "refused" && this.askedBecause !== "refused";
    if (this.asking === null || isLate || isRefused) {
      this.askedAtMs = nowMs;
      this.askedBecause = request.reason;
      this.begin(request);
    }
    const mayWait = !this.isSilent || request.reason !== "connect" || !this.isValid();
    return mayWait ? (this.asking as Promise<ExpiringCredentials>) : Promise.resolve(this.lastCredentials());
  }

  private begin(request: CredentialRequest): void {
    const asking = this.call(request).finally(() => {
      this.isSilent = false;
      if (this.asking === asking) this.asking = null;
    });
    this.asking = asking;
    // A connection that uses the last result does not await this promise.
    asking.catch(() => {});
  }

  private async call(request: CredentialRequest): Promise<ExpiringCredentials> {
    const call = ++this.calls;
    try {
      const credentials = checkedCredentials(await this.provide(request));
      // A call that was repeated may return after its repetition, with older credentials.
      if (call > (this.last?.call ?? 0)) this.last = { call, credentials, atMs: userDateMs() };
      return this.lastCredentials();
    } catch (error) {
      if (request.reason !== "connect" || !this.isValid()) throw toError(error);
      return this.lastCredentials();
    }
  }

  private lastCredentials(): ExpiringCredentials {
    return (this.last as Obtained).credentials;
  }

  /** The last result has not expired. Without `expiresAt` it is not used again. */
  private isValid(): boolean {
    return this.last !== null && expiryOf(this.last.credentials) > userDateMs();
  }

  private isFresh(): boolean {
    const { last } = this;
    if (last === null) return false;
    return userDateMs() - last.atMs < (expiryOf(last.credentials) - last.atMs) * FRESH_SHARE;
  }
}

const shared = new WeakMap<CredentialsProvider, SharedProvider>();

/** Rejects if the function fails or returns no credentials. */
export function askProvider(
  provide: CredentialsProvider,
  request: CredentialRequest,
): Promise<ExpiringCredentials> {
  let provider = shared.get(provide);
  if (provider === undefined) shared.set(provide, (provider = new SharedProvider(provide)));
  return provider.ask(request);
}
