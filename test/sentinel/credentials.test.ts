/** Real Sentinels that admit users with passwords only, which change: the option sentinelCredentials. */

import { expect } from "chai";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerSentinels } from "../../scripts/servers/server-sentinels";
import { Redis } from "../../src/index";
import type { CredentialRequest } from "../../src/link/credential-provider";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";

/** Lifetime of a password. The renewal follows after four fifths. */
const TOKEN_MS = 1000;
const RENEWALS = 3;

for (const kind of [ServerKind.Redis, ServerKind.Valkey]) {
  describe(`sentinels with users and passwords on ${kind}`, function () {
    this.timeout(120_000);
    let group: ServerSentinels;
    const clients: Redis[] = [];

    before(async () => {
      group = await ServerSentinels.start({
        binary: await findServer(kind),
        downAfterMs: 500,
        // Sentinels log in to each other with this password.
        sentinelConfig: { requirepass: "inner" },
      });
    });
    after(() => group?.stop());
    afterEach(async () => {
      await Promise.all(clients.splice(0).map(closeClient));
    });

    function connect(options: object): Redis {
      const redis = new Redis({
        sentinels: group.addresses,
        name: group.groupName,
        connectTimeout: 2000,
        ...options,
      });
      redis.on("error", () => {});
      clients.push(redis);
      return redis;
    }

    const asUser = async (...words: string[]): Promise<void> => {
      await Promise.all(
        group.sentinels.map((sentinel) => sentinel.command("ACL", "SETUSER", "app", ...words)),
      );
    };

    it("refuse a client without a password", async () => {
      const redis = connect({ sentinelRetryStrategy: null });
      const error = await failureOf(redis.get("a"));
      expect(`${error.message} ${error.cause?.message}`).to.include("NOAUTH");
    });

    it("admit a client whose password changes, before and after a failover", async () => {
      await group.untilHealthy();
      await asUser("on", "~*", "&*", "+@all");
      const requests: CredentialRequest[] = [];
      const sentinelCredentials = async (request: CredentialRequest) => {
        requests.push(request);
        const password = `token${requests.length}`;
        await asUser("resetpass", `>${password}`);
        return { username: "app", password, expiresAt: Date.now() + TOKEN_MS };
      };
      const redis = connect({ sentinelCredentials });
      const failures: string[] = [];
      redis.on("sentinelError", (error: Error) => failures.push(error.message));
      const subscribed = new Promise((resolve) => redis.once("failoverSubscribed", resolve));
      await untilReady(redis);
      await subscribed;
      const renewals = (): number => requests.filter(({ reason }) => reason === "renewal").length;
      // The subscription to the Sentinel lasts, and logs in again.
      while (renewals() < RENEWALS) await redis.incr("counter");
      const ports = group.sentinels.map(({ port }) => port);
      for (const { host, port, tls } of requests) {
        expect([host, tls]).to.deep.equal(["127.0.0.1", false]);
        expect(ports).to.include(port);
      }
      expect(failures).to.deep.equal([]);
      const master = await group.failover();
      const portOf = (): unknown => (redis.stream as unknown as { remotePort?: number } | null)?.remotePort;
      do await redis.set("after", "1");
      while (portOf() !== master.port);
      expect(await redis.set("after", "1")).to.equal("OK");
    });
  });
}
