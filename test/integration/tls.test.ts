/** TLS: own authority, client certificates, server names, addresses, and through sentinels. */

import { expect } from "chai";
import { Certificates } from "../../scripts/servers/certificates";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { supportsTls } from "../../scripts/servers/server-binary";
import { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Cluster, Redis } from "../../src/index";
import { closeClient } from "../support/matrix";

describe("TLS", function () {
  this.timeout(60_000);
  let certificates: Certificates;
  let server: ServerProcess;
  const clients: Redis[] = [];

  before(async function () {
    const binary = await findServer(ServerKind.Redis);
    if (!(await supportsTls(binary.path))) {
      console.log("      skipped: this server was built without TLS");
      this.skip();
    }
    certificates = new Certificates(["redis.example.org"]);
    server = await ServerProcess.start({ binary, tls: certificates });
  });
  after(() => server?.stop());
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeClient));
  });

  function connect(...args: unknown[]): Redis {
    const redis = new (Redis as unknown as new (...args: unknown[]) => Redis)(...args);
    redis.on("error", () => {});
    clients.push(redis);
    return redis;
  }

  /** The error of the first attempt. */
  async function errorOf(options: RedisOptions): Promise<NodeJS.ErrnoException> {
    const redis = connect({ host: server.host, port: server.port, retryStrategy: null, ...options });
    return new Promise((resolve, reject) => {
      redis.once("error", resolve);
      redis.once("ready", () => reject(new Error("It got in")));
    });
  }

  it("settings from a function are asked for at each connection", async () => {
    const good = certificates.clientOptions();
    const made: object[] = [];
    const tls = (): object => {
      // The first certificates are out of date.
      const settings = made.length === 0 ? { ...good, ca: [] } : { ...good };
      made.push(settings);
      return settings;
    };
    const redis = connect({
      host: server.host,
      port: server.port,
      tls: () => ({ servername: "redis.example.org", ...tls() }),
      retryStrategy: () => 5,
    });
    expect(await redis.ping()).to.equal("PONG");
    const before = made.length;
    expect(before).to.equal(2);
    const ready = new Promise((resolve) => redis.once("ready", resolve));
    redis.stream.destroy();
    await ready;
    expect(made.length).to.equal(before + 1);
  });

  for (const protocol of [2, 3] as const) {
    it(`own authority and client certificate, protocol ${protocol}`, async () => {
      const tls = certificates.clientOptions();
      const redis = connect({ host: server.host, port: server.port, protocol, tls });
      expect(await redis.set("k", "x".repeat(300_000))).to.equal("OK");
      expect((await redis.getBuffer("k"))?.length).to.equal(300_000);
      const rows = await redis.pipeline().incr("n").incr("n").exec();
      expect(rows?.map((row) => row[1])).to.deep.equal([1, 2]);
      expect((redis.stream as unknown as { encrypted: boolean }).encrypted).to.equal(true);
      await redis.del("n");
    });
  }

  it("rediss:// of a start node, with the settings of redisOptions", async () => {
    const redisOptions = { tls: certificates.clientOptions() };
    const cluster = new Cluster([`rediss://${server.host}:${server.port}`], {
      redisOptions,
      clusterRetryStrategy: null,
    });
    const nodeError = new Promise<Error>((resolve) => cluster.once("node error", resolve));
    cluster.on("error", () => {});
    // The certificate is accepted, and the server is no node of a cluster.
    expect((await nodeError).message).to.include("cluster support disabled");
    cluster.disconnect();
  });

  it("rediss:// in any letter case, with the options beside it", async () => {
    const tls = certificates.clientOptions();
    for (const scheme of ["rediss", "REDISS"]) {
      const redis = connect(`${scheme}://${server.host}:${server.port}/2`, { tls });
      expect(await redis.ping()).to.equal("PONG");
      expect(redis.options.db).to.equal(2);
    }
  });

  it("reconnects with TLS, and keeps what was pending", async () => {
    const tls = certificates.clientOptions();
    const redis = connect({ host: server.host, port: server.port, tls, retryStrategy: () => 5 });
    await redis.ping();
    const blocked = redis.blpop("list", 0);
    const closed = new Promise((resolve) => redis.once("close", resolve));
    await server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await closed;
    await server.command("RPUSH", "list", "a");
    expect(await blocked).to.deep.equal(["list", "a"]);
  });

  it("refuses an authority that signed nothing here", async () => {
    const tls = { ...certificates.clientOptions(), ca: certificates.strangeAuthority };
    const error = await errorOf({ tls });
    expect(error.code).to.match(/^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/);
  });

  it("refuses a name that the certificate does not carry; servername chooses it", async () => {
    const tls = certificates.clientOptions();
    const wrong = await errorOf({ tls: { ...tls, servername: "other.example.org" } });
    expect(wrong.code).to.equal("ERR_TLS_CERT_ALTNAME_INVALID");
    const redis = connect({
      host: server.host,
      port: server.port,
      tls: { ...tls, servername: "redis.example.org" },
    });
    expect(await redis.ping()).to.equal("PONG");
    expect((redis.stream as unknown as { servername: string }).servername).to.equal("redis.example.org");
  });

  it("a server that demands client certificates lets nobody in without one", async () => {
    const error = await errorOf({ tls: { ca: certificates.authority } });
    expect(error).to.be.instanceOf(Error);
  });

  const mistakes: [name: string, tls: () => RedisOptions["tls"], hint: RegExp][] = [
    [
      "an unknown authority",
      () => ({ ...certificates.clientOptions(), ca: certificates.strangeAuthority }),
      /trust.*`ca`/,
    ],
    [
      "a certificate for other names",
      () => ({ ...certificates.clientOptions(), servername: "other.example.org" }),
      /other names.*`servername`/,
    ],
    [
      "no client certificate",
      () => ({ ca: certificates.authority, servername: "redis.example.org" }),
      /client certificate.*`cert` and `key`/,
    ],
  ];
  for (const [name, tls, hint] of mistakes) {
    it(`${name}: commands do not wait for another attempt`, async () => {
      const { host, port } = server;
      const error = await connect({ host, port, tls: tls() })
        .get("k")
        .then(String, (one) => one);
      expect(error.hint).to.match(hint);
      const redisOptions = { tls: tls() };
      const cluster = new Cluster([{ host, port }], { redisOptions });
      cluster.on("error", () => {});
      const refusal = await cluster.get("k").then(String, (one) => one);
      cluster.disconnect();
      expect(refusal.hint).to.match(hint);
    });
  }

  it("rejectUnauthorized: false takes any server", async () => {
    const { cert, key } = certificates.clientOptions();
    const redis = connect({
      host: server.host,
      port: server.port,
      tls: { cert, key, rejectUnauthorized: false },
    });
    expect(await redis.ping()).to.equal("PONG");
  });

  it("plain TCP to a TLS port fails instead of hanging", async () => {
    const error = await errorOf({ connectTimeout: 1000 });
    expect(error).to.be.instanceOf(Error);
  });

  it("through a sentinel: sentinelTLS for it, enableTLSForSentinelMode for the server", async () => {
    const binary = await findServer(ServerKind.Redis);
    const sentinel = await ServerProcess.start({
      binary,
      sentinel: true,
      tls: certificates,
      config: { "sentinel monitor": `group ${server.host} ${server.port} 1`, "tls-replication": "yes" },
    });
    try {
      const tls = certificates.clientOptions();
      const redis = connect({
        sentinels: [{ host: sentinel.host, port: sentinel.port }],
        name: "group",
        sentinelTLS: tls,
        tls,
        enableTLSForSentinelMode: true,
        // The sentinel may take a moment to see that it is a master.
        sentinelRetryStrategy: () => 50,
        enableReadyCheck: true,
      });
      expect(await redis.ping()).to.equal("PONG");
      expect((redis.stream as unknown as { encrypted: boolean }).encrypted).to.equal(true);
    } finally {
      await Promise.all(clients.splice(0).map(closeClient));
      await sentinel.stop();
    }
  });

  describe("sessions", () => {
    function isResumed(redis: Redis): boolean {
      return (redis.stream as unknown as { isSessionReused(): boolean }).isSessionReused();
    }

    /** A client past its first reply: the server sends the session behind its handshake. */
    async function ready(options: RedisOptions): Promise<Redis> {
      const redis = connect({ host: server.host, port: server.port, retryStrategy: () => 5, ...options });
      await redis.ping();
      return redis;
    }

    it("are resumed by a reconnect, and by other clients with equal options", async () => {
      const first = await ready({ tls: { ...certificates.clientOptions(), servername: "localhost" } });
      const isReady = new Promise((resolve) => first.once("close", () => first.once("ready", resolve)));
      await server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      await isReady;
      await first.ping();
      expect(isResumed(first), "the same client").to.equal(true);
      // Other Buffers, with the same bytes.
      const second = await ready({ tls: { ...certificates.clientOptions(), servername: "localhost" } });
      expect(isResumed(second), "another client").to.equal(true);
      expect(await second.set("k", "v")).to.equal("OK");
    });

    it("are not resumed by a client that trusts others, and its certificates are checked", async () => {
      const { cert, key } = certificates.clientOptions();
      await ready({ tls: { cert, key, rejectUnauthorized: false } });
      const error = await errorOf({ tls: { cert, key, ca: certificates.strangeAuthority } });
      expect(error.code).to.match(/^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/);
      const strict = await ready({ tls: certificates.clientOptions() });
      expect(isResumed(strict)).to.equal(false);
    });

    it("are not resumed once the options that a client keeps have changed", async () => {
      const redis = await ready({ tls: { ...certificates.clientOptions(), ca: [certificates.authority] } });
      (redis.options.tls as { ca: Buffer[] }).ca[0] = certificates.strangeAuthority;
      const refused = new Promise<NodeJS.ErrnoException>((resolve) => redis.once("error", resolve));
      redis.disconnect(true);
      expect((await refused).code).to.match(/^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/);
    });

    it("are made anew with a server that does not know them any more", async () => {
      const other = await ServerProcess.start({ binary: server.binary, tls: certificates });
      try {
        const redis = await ready({ host: other.host, port: other.port, tls: certificates.clientOptions() });
        await other.kill();
        await other.start();
        expect(await redis.set("k", "v")).to.equal("OK");
        expect(isResumed(redis)).to.equal(false);
      } finally {
        await Promise.all(clients.splice(0).map(closeClient));
        await other.stop();
      }
    });
  });

  it("profiles by name are refused with what to do instead", () => {
    expect(() => new Redis({ tls: "RedisCloudFixed" as never, lazyConnect: true })).to.throw(/tls: \{ ca \}/);
  });
});
