/** Logins with access tokens of Microsoft Entra ID and Google Cloud. */

import { expect } from "chai";
import { entra } from "../../../src/credentials/entra";
import { gcpIam } from "../../../src/credentials/gcp-iam";
import { codeOf } from "../../support/outcome";

const REQUEST = { host: "h", port: 6380, tls: true, reason: "connect" } as const;

function tokenOf(claims: object): string {
  return ["{}", JSON.stringify(claims), "signature"]
    .map((part) => Buffer.from(part).toString("base64url"))
    .join(".");
}

describe("entra", () => {
  it("logs in as the object ID of the identity, with the scope of Azure", async () => {
    const scopes: string[] = [];
    const token = tokenOf({ oid: "0f9a-11" });
    const provider = entra({
      getToken: async (scope) => {
        scopes.push(scope);
        return { token, expiresOnTimestamp: 123 };
      },
    });
    expect(await provider(REQUEST)).to.deep.equal({ username: "0f9a-11", password: token, expiresAt: 123 });
    expect(scopes).to.deep.equal(["https://redis.azure.com/.default"]);
  });

  it("refuses a missing token and one without an object ID", async () => {
    const answers = [
      null,
      { token: tokenOf({}), expiresOnTimestamp: 1 },
      { token: "x", expiresOnTimestamp: 1 },
    ];
    for (const answer of answers) {
      expect(await codeOf(Promise.resolve(entra({ getToken: async () => answer })(REQUEST)))).to.equal(
        "CREDENTIALS",
      );
    }
  });

  it("takes a user name for tokens without the claim", async () => {
    const provider = entra(
      { getToken: async () => ({ token: "opaque", expiresOnTimestamp: 5 }) },
      { user: "me" },
    );
    expect(await provider(REQUEST)).to.deep.equal({ username: "me", password: "opaque", expiresAt: 5 });
  });
});

describe("gcpIam", () => {
  it("takes a token as text or as google-auth-library returns it", async () => {
    const expiresAt = new Date(7);
    const credentials = { username: "default", password: "t", expiresAt };
    expect(await gcpIam(async () => ({ token: "t", expiresAt }))(REQUEST)).to.deep.equal(credentials);
    const before = Date.now();
    const plain = await gcpIam(() => "t")(REQUEST);
    expect(Number(plain.expiresAt) - before).to.be.within(3_599_000, 3_601_000);
  });

  it("refuses a missing token", async () => {
    expect(await codeOf(Promise.resolve(gcpIam(async () => ({ token: null }))(REQUEST)))).to.equal(
      "CREDENTIALS",
    );
  });
});
