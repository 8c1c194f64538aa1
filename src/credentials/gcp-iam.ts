/**
 * Credentials for Google Cloud Memorystore with IAM: an OAuth 2.0 access token is the password of the user `default`. It
 * makes no request of its own.
 *
 * Source: "About IAM authentication" in the Memorystore documentation.
 */

import { CredentialsError } from "../errors";
import type { CredentialsProvider } from "../link/credential-provider";
import { userDateMs } from "../util/scheduling";

/** The result of `getAccessToken()` of `google-auth-library`, or the token itself. */
export type GcpAccessToken =
  | string
  | { readonly token?: string | null | undefined; readonly expiresAt?: Date | number | undefined };

/** The lifetime in milliseconds of an access token without a given expiry: the default lifetime of Google. */
const LIFETIME_MS = 3_600_000;

/**
 * Credentials from Google Cloud IAM for the option `credentials`: `gcpIam(() => auth.getAccessToken())`.
 *
 * @throws CredentialsError, code `CREDENTIALS`, without a token: when the client connects
 */
export function gcpIam(getAccessToken: () => GcpAccessToken | Promise<GcpAccessToken>): CredentialsProvider {
  return async () => {
    const answer = await getAccessToken();
    const { token, expiresAt } =
      typeof answer === "string" ? { token: answer, expiresAt: undefined } : (answer ?? {});
    if (!token) throw new CredentialsError("Google Cloud returned no access token");
    return { username: "default", password: token, expiresAt: expiresAt ?? userDateMs() + LIFETIME_MS };
  };
}
