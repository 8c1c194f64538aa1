/** Tokens of AWS IAM: equal to those of two other signers, and valid no longer than the keys behind them. */

import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import { sign } from "aws4";
import { expect } from "chai";
import fc from "fast-check";
import sinon from "sinon";
import { type AwsIamOptions, type AwsKeys, awsIam } from "../../../src/credentials/aws-iam";
import type { CredentialRequest, CredentialsProvider } from "../../../src/link/credential-provider";
import { codeOf } from "../../support/outcome";
import { fixedRuns } from "../../support/properties";

const NOW = new Date("2026-03-04T05:06:07Z");
const KEYS: AwsKeys = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};
const REQUEST = { host: "h", port: 6379, tls: true, reason: "connect" } as const;

async function answer(provider: CredentialsProvider, request: CredentialRequest = REQUEST): Promise<unknown> {
  return provider(request);
}

async function ownToken(options: AwsIamOptions): Promise<string> {
  const clock = sinon.useFakeTimers({ now: NOW, toFake: ["Date"] });
  try {
    return String((await awsIam(options)(REQUEST)).password);
  } finally {
    clock.restore();
  }
}

function queryOf({ user, serverless = false }: AwsIamOptions): Record<string, string> {
  return { Action: "connect", User: user, ...(serverless ? { ResourceType: "ServerlessCache" } : {}) };
}

async function smithyToken(options: AwsIamOptions, keys: AwsKeys): Promise<string> {
  const signer = new SignatureV4({
    credentials: keys as Keys,
    region: String(options.region),
    service: options.service,
    sha256: Sha256,
  });
  const hostname = options.cluster.toLowerCase();
  const request = {
    method: "GET",
    protocol: "http:",
    hostname,
    path: "/",
    query: queryOf(options),
    headers: { host: hostname },
  };
  const { query = {} } = await signer.presign(request, { expiresIn: 900, signingDate: NOW });
  return `${hostname}/?${new URLSearchParams(query as Record<string, string>)}`;
}

function aws4Token(options: AwsIamOptions, keys: AwsKeys): string {
  const host = options.cluster.toLowerCase();
  const query = new URLSearchParams({ ...queryOf(options), "X-Amz-Expires": "900" });
  query.set("X-Amz-Date", NOW.toISOString().replaceAll(/[-:]|\.\d+/g, ""));
  const path = `/?${query.toString().replaceAll("+", "%20")}`;
  const signed = sign(
    { host, path, service: options.service, region: String(options.region), signQuery: true },
    { ...keys } as Keys,
  );
  return `${host}${signed.path}`;
}

/** The parameters of a token, decoded: the signers order and encode them in ways of their own. */
function parts(token: string): Record<string, string> {
  const [host = "", query = ""] = token.split("/?");
  return { host, ...Object.fromEntries(new URLSearchParams(query)) };
}

type Keys = { accessKeyId: string; secretAccessKey: string; sessionToken: string };

const text = fc.string({ minLength: 1, maxLength: 20, unit: "grapheme-ascii" });
const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,30}$/);

describe("awsIam", () => {
  it("signs as @smithy/signature-v4 and aws4 do, for any user, session token, region and service", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("elasticache" as const, "memorydb" as const),
        name,
        fc.stringMatching(/^[\w!'()*.~-]{1,30}$/),
        fc.constantFrom("eu-central-1", "us-gov-west-1", "cn-north-1"),
        fc.boolean(),
        fc.option(text, { nil: undefined }),
        async (service, cluster, user, region, serverless, sessionToken) => {
          const keys = { ...KEYS, ...(sessionToken === undefined ? {} : { sessionToken }) };
          const options: AwsIamOptions = { service, cluster, user, region, serverless, from: () => keys };
          const own = parts(await ownToken(options));
          expect(own).to.deep.equal(parts(await smithyToken(options, keys)));
          // aws4 leaves the characters !'()* of a user name unencoded, which the servers would not accept.
          if (!/[!'()*]/.test(user))
            expect(own["X-Amz-Signature"]).to.equal(parts(aws4Token(options, keys))["X-Amz-Signature"]);
        },
      ),
      fixedRuns(200),
    );
  });

  it("expires with the token or with the keys that signed it, whichever is earlier", async () => {
    const clock = sinon.useFakeTimers({ now: NOW, toFake: ["Date"] });
    try {
      const until = async (expiration?: Date): Promise<number> => {
        const provider = awsIam({
          service: "elasticache",
          cluster: "c",
          user: "u",
          region: "r",
          from: () => ({ ...KEYS, expiration }),
        });
        return Number((await provider(REQUEST)).expiresAt) - NOW.getTime();
      };
      expect(await until()).to.equal(900_000);
      expect(await until(new Date(NOW.getTime() + 60_000))).to.equal(60_000);
      expect(await until(new Date(NOW.getTime() + 3_600_000))).to.equal(900_000);
    } finally {
      clock.restore();
    }
  });

  it("refuses a connection without TLS, a missing region and missing keys", async () => {
    const options: AwsIamOptions = {
      service: "memorydb",
      cluster: "c",
      user: "u",
      region: "r",
      from: () => KEYS,
    };
    const { AWS_REGION, AWS_DEFAULT_REGION } = process.env;
    delete process.env.AWS_REGION;
    delete process.env.AWS_DEFAULT_REGION;
    try {
      const codes = [
        await codeOf(answer(awsIam(options), { ...REQUEST, tls: false })),
        await codeOf(answer(awsIam({ ...options, region: undefined }))),
        await codeOf(answer(awsIam({ ...options, from: () => ({}) as never }))),
      ];
      expect(codes).to.deep.equal(["CREDENTIALS", "CREDENTIALS", "CREDENTIALS"]);
    } finally {
      if (AWS_REGION !== undefined) process.env.AWS_REGION = AWS_REGION;
      if (AWS_DEFAULT_REGION !== undefined) process.env.AWS_DEFAULT_REGION = AWS_DEFAULT_REGION;
    }
  });
});
