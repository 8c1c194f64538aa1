/** The credentials of a connection: from the options, or from the function in the options. */

import { askProvider } from "../link/credential-provider";
import type { CredentialReason, ExpiringCredentials } from "../link/credentials";
import type { RedisOptions } from "./options/redis-options";

/** Does not call a function whose result another connection is waiting for. */
export function credentialsOf(
  options: RedisOptions,
  reason: CredentialReason = "connect",
): ExpiringCredentials | Promise<ExpiringCredentials> {
  const { credentials, host, port, path, sentinels, tls } = options;
  if (typeof credentials !== "function") return options;
  // A Sentinel names the server only while the client connects.
  const address = sentinels || path ? {} : { host, port };
  return askProvider(credentials, { ...address, tls: Boolean(tls), reason });
}
