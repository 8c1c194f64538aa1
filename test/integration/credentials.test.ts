/** Credentials from a function: asked for each connection, and renewed on the live one before they expire. */

import { expect } from "chai";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import type { CredentialRequest } from "../../src/link/credential-provider";
import { FakeServer } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";

describe("credentials", () => {
  let server: ServerProcess;
  const clients: Redis[] = [];

  before(async () => {
    server = await ServerProcess.start({ binary: await findServer(ServerKind.Redis) });
    await server.command("ACL", "SETUSER", "app", "on", "~*", "&*", "+@all", ">first");
  });
  after(() => server?.stop());
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeClient));
  });

  function connect(options: RedisOptions): Redis {
    const redis = new Redis({ host: server.host, port: server.port, retryStrategy: () => 5, ...options });
    redis.on("error", () => {});
    clients.push(redis);
    return redis;
  }

  for (const protocol of [2, 3] as const) {
    it(`come from a function, also an async one, protocol ${protocol}`, async () => {
      const plain = connect({ protocol, credentials: () => ({ username: "app", password: "first" }) });
      const late = connect({ protocol, credentials: async () => ({ username: "app", password: "first" }) });
      expect([await plain.acl("WHOAMI"), await late.acl("WHOAMI")]).to.deep.equal(["app", "app"]);
    });
  }

  it("are asked for again for each connection", async () => {
    let asked = 0;
    const redis = connect({
      credentials: () => {
        asked++;
        return { username: "app", password: "first" };
      },
    });
    await untilReady(redis);
    const ready = new Promise((resolve) => redis.once("ready", resolve));
    await server.command("CLIENT", "KILL", "USER", "app");
    await ready;
    expect(asked).to.equal(2);
  });

  it("are renewed before they expire, on the live connection", async () => {
    let round = 0;
    const redis = connect({
      credentials: async () => {
        round++;
        // A token service: each password holds for a second.
        await server.command("ACL", "SETUSER", "app", "resetpass", `>token${round}`);
        return { username: "app", password: `token${round}`, expiresAt: Date.now() + 700 };
      },
    });
    let closes = 0;
    redis.on("close", () => closes++);
    await untilReady(redis);
    const id = await redis.client("ID");
    while (round < 3) {
      expect(await redis.acl("WHOAMI")).to.equal("app");
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    await redis.ping();
    expect(await redis.client("ID")).to.equal(id);
    expect(closes).to.equal(0);
    // Closed first: the next password would take the place of the one that other tests use.
    await closeClient(redis);
    await server.command("ACL", "SETUSER", "app", "resetpass", ">first");
  });

  it("a source that fails is asked again; the error is told", async () => {
    let asked = 0;
    const fake = await FakeServer.start();
    const redis = new Redis({
      port: fake.port,
      host: fake.host,
      protocol: 2,
      credentials: () => {
        if (++asked === 2) throw new Error("no token");
        return { password: `p${asked}`, expiresAt: new Date(Date.now() + 600) };
      },
    });
    clients.push(redis);
    const told = await new Promise<Error>((resolve) => redis.once("error", resolve));
    expect(told.message).to.equal("no token");
    while (asked < 3) await new Promise((resolve) => setTimeout(resolve, 20));
    await redis.ping();
    const logins = fake.received.filter(([word]) => word === "auth").map(([, password]) => password);
    expect(logins.slice(0, 2)).to.deep.equal(["p1", "p3"]);
    await closeClient(redis);
    await fake.stop();
  });

  it("a source that fails while connecting is a failed attempt", async () => {
    let asked = 0;
    const redis = connect({
      credentials: async () => {
        if (++asked === 1) throw new Error("no token yet");
        return { username: "app", password: "first" };
      },
    });
    const first = new Promise<Error>((resolve) => redis.once("error", resolve));
    await untilReady(redis);
    expect((await first).message).to.equal("no token yet");
  });

  it("that the server refuses are asked for once more, with the reason, and commands wait", async () => {
    const requests: CredentialRequest[] = [];
    const redis = connect({
      credentials: async (request) => {
        requests.push(request);
        return { username: "app", password: request.reason === "refused" ? "first" : "expired" };
      },
    });
    expect(await Promise.all([redis.set("a", 1), redis.acl("WHOAMI")])).to.deep.equal(["OK", "app"]);
    const { host, port } = server;
    expect(requests).to.deep.equal([
      { host, port, tls: false, reason: "connect" },
      { host, port, tls: false, reason: "refused" },
    ]);
  });

  it("that the server refuses twice fail the waiting commands, and later ones do not", async () => {
    let isExpired = true;
    const redis = connect({
      credentials: async () => ({ username: "app", password: isExpired ? "expired" : "first" }),
    });
    expect((await failureOf(redis.acl("WHOAMI"))).message).to.include("WRONGPASS");
    isExpired = false;
    let user: unknown;
    while (user === undefined) user = await redis.acl("WHOAMI").catch(() => undefined);
    expect(user).to.equal("app");
  });

  it("no AUTH goes between MULTI and EXEC", async () => {
    const fake = await FakeServer.start((words) => {
      if (words[0] === "multi") return "OK";
      return words[0] === "exec" ? [] : undefined;
    });
    const redis = new Redis({
      port: fake.port,
      host: fake.host,
      protocol: 2,
      disableClientInfo: true,
      credentials: () => ({ password: "p", expiresAt: Date.now() + 600 }),
    });
    clients.push(redis);
    await untilReady(redis);
    await redis.multi({ pipeline: false });
    await new Promise((resolve) => setTimeout(resolve, 700));
    await redis.exec();
    while (fake.received.filter(([word]) => word === "auth").length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const words = fake.received.map(([word]) => word);
    expect(words.slice(words.indexOf("multi"), words.indexOf("exec") + 1)).to.deep.equal(["multi", "exec"]);
    await closeClient(redis);
    await fake.stop();
  });

  for (const [what, given] of Object.entries({
    null: null,
    undefined: undefined,
    "a string": "first",
    "a list": ["app", "first"],
    "a Map": new Map([["username", "app"]]),
    "a Date": new Date(0),
    "other names": { user: "app", pass: "first" },
    "a password that is missing": { password: undefined },
    "a password of another kind": { username: "app", password: { text: "first" } },
  })) {
    it(`are not ${what}: an error, and the next attempt`, async () => {
      let asked = 0;
      const credentials = (): unknown => (++asked === 1 ? given : { username: "app", password: "first" });
      const redis = connect({ credentials: credentials as NonNullable<RedisOptions["credentials"]> });
      const error = new Promise<Error>((resolve) => redis.once("error", resolve));
      expect(await redis.acl("WHOAMI")).to.equal("app");
      expect(await error).to.include({ code: "CREDENTIALS" });
      expect(asked).to.equal(2);
    });
  }

  for (const isAsync of [false, true]) {
    it(`that fail once are a failed attempt like any other, ${isAsync ? "as a promise" : "thrown"}`, async () => {
      let asked = 0;
      const fail = (): never => {
        throw new Error("the vault is closed");
      };
      const good = { username: "app", password: "first" };
      const redis = connect({
        credentials: isAsync
          ? async () => (++asked === 1 ? fail() : good)
          : () => (++asked === 1 ? fail() : good),
      });
      const calls = [redis.set("a", 1), redis.acl("WHOAMI"), redis.pipeline().get("a").exec()];
      expect(await Promise.all(calls)).to.deep.equal(["OK", "app", [[null, "1"]]]);
      expect(asked).to.equal(2);
    });
  }

  it("that fail for good end the waiting commands as maxRetriesPerRequest says", async () => {
    const redis = connect({
      maxRetriesPerRequest: 2,
      credentials: () => {
        throw new Error("the vault is closed");
      },
    });
    const error = await failureOf(redis.get("a"));
    expect(error).to.include({ code: "MAX_RETRIES" });
    expect(error.cause).to.have.property("message", "the vault is closed");
  });
});
