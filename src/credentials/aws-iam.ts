/**
 * Credentials for Amazon ElastiCache and MemoryDB with IAM: a presigned `connect` request (Signature Version 4) is the
 * password. It makes no request of its own; the keys come from a credential provider of the AWS SDK or a function of
 * the same shape.
 *
 * Source: "Authenticating with IAM" in the user guides of ElastiCache and MemoryDB, and "Signature Version 4 query
 * parameters" in the IAM user guide.
 */

import { createHash, createHmac } from "node:crypto";
import { CredentialsError } from "../errors";
import type { CredentialRequest, CredentialsProvider } from "../link/credential-provider";
import { userDateMs } from "../util/scheduling";

/** The keys that sign, as a credential provider of the AWS SDK returns them. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** When temporary keys expire. */
  readonly expiration?: Date | undefined;
}

export interface AwsIamOptions {
  readonly service: "elasticache" | "memorydb";
  /** Name of the replication group, the serverless cache or the MemoryDB cluster. */
  readonly cluster: string;
  /** ID of the user, which must be equal to its name. */
  readonly user: string;
  /** @default AWS_REGION or AWS_DEFAULT_REGION of the environment */
  readonly region?: string | undefined;
  /** An ElastiCache serverless cache. @default false */
  readonly serverless?: boolean | undefined;
  /** Returns the keys, as `fromNodeProviderChain()` of `@aws-sdk/credential-providers` does. */
  readonly from: () => AwsKeys | Promise<AwsKeys>;
}

/** Seconds for which the servers accept a token: the longest that they allow. */
const LIFETIME_S = 900;
const ALGORITHM = "AWS4-HMAC-SHA256";
const NO_BODY = createHash("sha256").update("").digest("hex");

/**
 * Credentials from AWS IAM for the option `credentials`. The connection must use TLS. A token expires after 15 minutes,
 * or earlier with the keys that signed it. The client logs in again before it expires.
 *
 * @throws CredentialsError, code `CREDENTIALS`, without TLS, region or keys: when the client connects
 */
export function awsIam(options: AwsIamOptions): CredentialsProvider {
  return async ({ tls }: CredentialRequest) => {
    if (!tls) throw new CredentialsError("AWS IAM requires TLS: set the option `tls` to {}");
    const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
    const region = options.region ?? AWS_REGION ?? AWS_DEFAULT_REGION;
    if (!region) throw new CredentialsError("AWS IAM needs a region: set `region` or AWS_REGION");
    const keys = await options.from();
    if (!keys?.accessKeyId || !keys.secretAccessKey) {
      throw new CredentialsError("`from` returned no accessKeyId and secretAccessKey");
    }
    const nowMs = userDateMs();
    const tokenEndMs = nowMs + LIFETIME_S * 1000;
    const keysEndMs = keys.expiration === undefined ? Number.NaN : Number(keys.expiration);
    return {
      username: options.user,
      password: presign(options, region, keys, new Date(nowMs)),
      expiresAt: Number.isNaN(keysEndMs) ? tokenEndMs : Math.min(tokenEndMs, keysEndMs),
    };
  };
}

function presign(options: AwsIamOptions, region: string, keys: AwsKeys, now: Date): string {
  const { service, user, serverless = false } = options;
  const host = options.cluster.toLowerCase();
  const stamp = now.toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const date = stamp.slice(0, 8);
  const scope = `${date}/${region}/${service}/aws4_request`;
  const query = [
    ["Action", "connect"],
    ...(serverless ? [["ResourceType", "ServerlessCache"]] : []),
    ["User", user],
    ["X-Amz-Algorithm", ALGORITHM],
    ["X-Amz-Credential", `${keys.accessKeyId}/${scope}`],
    ["X-Amz-Date", stamp],
    ["X-Amz-Expires", String(LIFETIME_S)],
    ...(keys.sessionToken === undefined ? [] : [["X-Amz-Security-Token", keys.sessionToken]]),
    ["X-Amz-SignedHeaders", "host"],
  ]
    .map((pair) => pair.map((text) => encode(text as string)).join("="))
    .join("&");
  const request = `GET\n/\n${query}\nhost:${host}\n\nhost\n${NO_BODY}`;
  const toSign = `${ALGORITHM}\n${stamp}\n${scope}\n${createHash("sha256").update(request).digest("hex")}`;
  const key = [date, region, service, "aws4_request"].reduce<string | Buffer>(
    (secret, text) => createHmac("sha256", secret).update(text).digest(),
    `AWS4${keys.secretAccessKey}`,
  );
  return `${host}/?${query}&X-Amz-Signature=${createHmac("sha256", key).update(toSign).digest("hex")}`;
}

/** RFC 3986: `encodeURIComponent` leaves five characters that Signature Version 4 encodes. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
