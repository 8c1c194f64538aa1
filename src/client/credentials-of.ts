/** The credentials of a connection: from the options, or from the function in the options. */

import { askProvider, type CredentialsProvider } from "../link/credential-provider";
import type { CredentialReason, ExpiringCredentials } from "../link/credentials";

export interface CredentialOptions extends ExpiringCredentials {
  readonly credentials?: CredentialsProvider | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: string | undefined;
  readonly sentinels?: unknown;
  readonly tls?: unknown;
}

/** Does not call a function whose result another connection is waiting for. */
export function credentialsOf(
  options: CredentialOptions,
  reason: CredentialReason = "connect",
): ExpiringCredentials | Promise<ExpiringCredentials> {
  const { credentials, host, port, path, sentinels, tls } = options;
  if (typeof credentials !== "function") return options;
  // A Sentinel names the server only while the client connects.
  const address = sentinels || path ? {} : { host, port };
  return askProvider(credentials, { ...address, tls: Boolean(tls), reason });
}
