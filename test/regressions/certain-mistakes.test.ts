/**
 * Mistakes of the configuration that another attempt cannot mend: commands reject within a few seconds, with the reason
 * and a hint, although the client goes on trying. An outage is no such mistake: commands wait.
 */

import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import { Cluster, Redis, type RedisOptions } from "../../src/index";
import { FakeServer, RawReply } from "../support/fake-server";
import { closeClient } from "../support/matrix";
import { failureOf } from "../support/outcome";
import { sharedServer, startServer } from "../support/shared-servers";

type Failure = Error & { code?: string; hint?: string; cause?: unknown };

describe("certain mistakes", function () {
  this.timeout(20_000);
  const closing: (() => unknown)[] = [];

  before(() => sharedServer(ServerKind.Redis));

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  function opened<Client extends Redis | Cluster>(client: Client): Client {
    client.on("error", () => {});
    closing.push(() => client.disconnect());
    return client;
  }

  async function fake(...args: Parameters<typeof FakeServer.start>): Promise<FakeServer> {
    const server = await FakeServer.start(...args);
    closing.push(() => server.stop());
    return server;
  }

  /** With default options. A second command rejects as well: it is no end of the client. */
  async function reasonOf(client: Redis | Cluster): Promise<Failure> {
    const first: Failure = await failureOf(client.get("a"));
    const second: Failure = await failureOf(client.get("a"));
    expect([second.name, second.code, second.hint]).to.deep.equal([first.name, first.code, first.hint]);
    expect(client.status).not.to.equal("end");
    return first;
  }

  it("an HTTP port", async () => {
    const server = createHttpServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const reason = await reasonOf(opened(new Redis({ host: "127.0.0.1", port })));
    expect(reason).to.include({ code: "PROTOCOL" });
    expect(reason.hint).to.include("HTTP server");
    const cluster = opened(new Cluster([{ host: "127.0.0.1", port }]));
    expect((await reasonOf(cluster)).hint).to.include("HTTP server");
  });

  it("TLS where there is none", async () => {
    const { port } = await sharedServer(ServerKind.Redis);
    const reason = await reasonOf(opened(new Redis({ host: "127.0.0.1", port, tls: {} })));
    expect(reason).to.include({ code: "PROTOCOL" });
    expect(reason.hint).to.include("`tls`");
    const cluster = opened(new Cluster([{ host: "127.0.0.1", port }], { redisOptions: { tls: {} } }));
    expect((await reasonOf(cluster)).hint).to.include("`tls`");
  });

  it("a cluster client and no cluster", async () => {
    const { port } = await sharedServer(ServerKind.Redis);
    const reason = await reasonOf(opened(new Cluster([{ host: "127.0.0.1", port }])));
    expect(reason).to.include({ code: "CLUSTER_UNAVAILABLE" });
    expect(reason.hint).to.include("new Redis(");
    const { cause } = reason as { cause: Failure };
    expect(cause).to.include({ code: "CLUSTER_ALL_FAILED" });
    expect(cause.cause).to.have.property("message", "ERR This instance has cluster support disabled");
  });

  it("a cluster client at a Sentinel", async () => {
    const { host, port } = await sharedServer(ServerKind.Redis);
    const config = { "sentinel monitor": `mymaster ${host} ${port} 1` };
    const sentinel = await startServer(ServerKind.Redis, { sentinel: true, config });
    closing.push(() => sentinel.stop());
    const reason = await reasonOf(opened(new Cluster([{ host: sentinel.host, port: sentinel.port }])));
    expect(reason).to.include({ code: "CLUSTER_UNAVAILABLE" });
    expect(reason.hint).to.include("Sentinel");
  });

  it("a cluster client whose user has no right to CLUSTER", async () => {
    const config = { "cluster-enabled": "yes", user: "app on >secret ~* +@all -cluster" };
    const server = await startServer(ServerKind.Redis, { config });
    closing.push(() => server.stop());
    const { port } = server;
    const login = { username: "app", password: "secret" };
    const reason = await reasonOf(
      opened(new Cluster([{ host: "127.0.0.1", port }], { redisOptions: login })),
    );
    expect(reason).to.include({ code: "CLUSTER_UNAVAILABLE" });
    expect(reason.hint).to.include("+cluster|slots");
  });

  it("a cluster client with a wrong password", async () => {
    const server = await fake(([name]) =>
      name === "hello" || name === "auth"
        ? new RawReply("-WRONGPASS invalid username-password pair or user is disabled.\r\n")
        : new RawReply("-NOAUTH Authentication required.\r\n"),
    );
    const nodes = [{ host: "127.0.0.1", port: server.port }];
    const reason = await reasonOf(opened(new Cluster(nodes, { redisOptions: { password: "wrong" } })));
    expect(reason.hint).to.include("`password`");
  });

  it("credentials of a cluster that are none: the error does not speak of a closed client", async () => {
    const { port } = await sharedServer(ServerKind.Redis);
    const options = { redisOptions: { credentials: () => null as never } };
    const cluster = new Cluster([{ host: "127.0.0.1", port }], options);
    closing.push(() => cluster.disconnect());
    const error = await new Promise<Failure>((resolve) => cluster.once("error", resolve));
    expect(error.cause).to.include({ code: "CREDENTIALS" });
    expect(error.hint).to.equal(undefined);
  });

  it("a group that no Sentinel knows", async () => {
    const sentinel = await fake(([, subcommand]) =>
      subcommand === "get-master-addr-by-name"
        ? new RawReply("*-1\r\n")
        : new Error("ERR No such master with that name"),
    );
    const sentinels = [{ host: "127.0.0.1", port: sentinel.port }];
    const redis = new Redis({ sentinels, name: "mymastr" });
    const events: Failure[] = [];
    redis.on("error", (error) => events.push(error));
    closing.push(() => closeClient(redis));
    const reason = await reasonOf(redis);
    expect(reason).to.include({ code: "SENTINELS_UNREACHABLE" });
    expect(reason.message).to.match(
      /^All sentinels are unreachable.* Last error: ERR No such master with that name$/,
    );
    expect(reason.hint).to.include('"mymastr"');
    expect(events[0]?.message).to.include("ERR No such master with that name");
    const once = opened(new Redis({ sentinels, name: "mymastr", sentinelRetryStrategy: null }));
    expect((await failureOf(once.get("a"))).message).to.include("No such master with that name");
  });

  describe("at the addresses of Sentinels", () => {
    async function reasonAt(port: number, options: RedisOptions = {}): Promise<Failure> {
      const sentinels = [{ host: "127.0.0.1", port }];
      const redis = new Redis({ sentinels, name: "mymaster", ...options });
      const first = new Promise<Failure>((resolve) => redis.once("error", resolve));
      redis.on("error", () => {});
      closing.push(() => closeClient(redis));
      const reason = await reasonOf(redis);
      expect(reason).to.include({ code: "SENTINELS_UNREACHABLE" });
      expect((await first).hint).to.equal(reason.hint);
      return reason;
    }

    it("a server that is no Sentinel", async () => {
      const { port } = await sharedServer(ServerKind.Redis);
      for (const reason of await Promise.all([reasonAt(port), reasonAt(port, { role: "slave" })])) {
        expect(reason.message).to.include("Last error: ERR unknown command");
        expect(reason.hint).to.include("not a Sentinel").and.to.include("`sentinels`");
      }
    });

    it("a Sentinel that refuses the credentials", async () => {
      const server = await fake(
        () => new RawReply("-WRONGPASS invalid username-password pair or user is disabled.\r\n"),
      );
      const reason = await reasonAt(server.port, { sentinelPassword: "wrong" });
      expect(reason.message).to.include("Last error: WRONGPASS");
      expect(reason.hint).to.include("`sentinelPassword`");
    });

    it("an HTTP port, and TLS where there is none", async () => {
      const server = createHttpServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      closing.push(() => server.close());
      const { port: httpPort } = server.address() as AddressInfo;
      const { port } = await sharedServer(ServerKind.Redis);
      const [http, plain] = await Promise.all([reasonAt(httpPort), reasonAt(port, { sentinelTLS: {} })]);
      expect(http?.hint).to.include("HTTP server");
      expect(plain?.hint).to.include("`sentinelTLS`");
    });

    it("an outage beside a server that is no Sentinel is none: commands wait", async () => {
      const { port } = await sharedServer(ServerKind.Redis);
      const sentinels = [
        { host: "127.0.0.1", port },
        { host: "127.0.0.1", port: 1 },
      ];
      const redis = new Redis({ sentinels, name: "mymaster" });
      const errors: Failure[] = [];
      redis.on("error", (error) => errors.push(error));
      closing.push(() => closeClient(redis));
      const settled: string[] = [];
      redis.get("a").catch(({ message }) => settled.push(message));
      await new Promise((resolve) => setTimeout(resolve, 4000));
      expect(settled).to.deep.equal([]);
      expect(errors.map(({ hint }) => hint)).to.include(undefined);
    });
  });

  it("a list of startup nodes that is empty", async () => {
    const cluster = new Cluster([], { lazyConnect: true });
    const errors: Failure[] = [];
    cluster.on("error", (error) => errors.push(error));
    closing.push(() => cluster.disconnect());
    const reason = await reasonOf(cluster);
    expect(reason).to.include({ code: "CLUSTER_UNAVAILABLE" });
    expect(reason.cause).to.include({ code: "INVALID_OPTION" });
    expect(reason.hint).to.include("new Cluster([{ host, port }])");
    expect(errors[0]?.message).to.equal("`startupNodes` should contain at least one node.");
  });

  it("an outage is none: commands wait, and the cause is the error of the socket", async () => {
    const port = 1;
    const waiting: string[] = [];
    const redis = opened(new Redis({ host: "127.0.0.1", port }));
    const cluster = new Cluster([{ host: "127.0.0.1", port }]);
    const error = new Promise<Failure>((resolve) => cluster.once("error", resolve));
    closing.push(() => cluster.disconnect());
    for (const client of [redis, cluster]) client.get("a").catch(({ message }) => waiting.push(message));
    expect((await error).cause).to.include({ code: "ECONNREFUSED" });
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(waiting).to.deep.equal([]);
  });
});
