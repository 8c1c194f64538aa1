/**
 * Credentials for Azure Managed Redis and Azure Cache for Redis with Microsoft Entra ID: the access token is the
 * password, its claim `oid` the user name. It makes no request of its own.
 *
 * Source: "Use Microsoft Entra for cache authentication" in the Azure documentation.
 */

import { CredentialsError } from "../errors";
import type { CredentialsProvider } from "../link/credential-provider";

/** A credential of `@azure/identity`. */
export interface EntraTokenCredential {
  getToken(scopes: string): Promise<{ readonly token: string; readonly expiresOnTimestamp: number } | null>;
}

export interface EntraOptions {
  /** @default "https://redis.azure.com/.default" */
  readonly scope?: string | undefined;
  /** User name. @default the claim `oid` of the token */
  readonly user?: string | undefined;
}

const SCOPE = "https://redis.azure.com/.default";

/**
 * Credentials from Microsoft Entra ID for the option `credentials`, from any credential of `@azure/identity`.
 *
 * @throws CredentialsError, code `CREDENTIALS`, without a token or a user name: when the client connects
 */
export function entra(
  credential: EntraTokenCredential,
  { scope = SCOPE, user }: EntraOptions = {},
): CredentialsProvider {
  return async () => {
    const answer = await credential.getToken(scope);
    if (!answer?.token) throw new CredentialsError("Microsoft Entra ID returned no token");
    const username = user ?? objectIdOf(answer.token);
    return { username, password: answer.token, expiresAt: answer.expiresOnTimestamp };
  };
}

/** The object ID of the identity, from the claims of a JSON Web Token (RFC 7519). */
function objectIdOf(token: string): string {
  const [, claims = ""] = token.split(".");
  let oid: unknown;
  try {
    ({ oid } = JSON.parse(Buffer.from(claims, "base64url").toString("utf8")) as { oid?: unknown });
  } catch {
    oid = undefined;
  }
  if (typeof oid !== "string")
    throw new CredentialsError("The token has no claim `oid`: set the option `user`");
  return oid;
}
