/**
 * The commonest mistakes of a first connection: the error has a hint that says what is probably wrong and what to do.
 * The message is the text of the server or the socket, to the letter, because programs compare it.
 */

import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { inspect } from "node:util";
import { expect } from "chai";
import { Certificates } from "../../scripts/servers/certificates";
import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FakeServer, RawReply } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";
import { sharedServer, startServer } from "../support/shared-servers";

describe("messages of a first connection", () => {
  let redis: Redis | undefined;
  let closing: (() => Promise<unknown>)[];

  before(async () => {
    await sharedServer(ServerKind.Redis);
  });
  beforeEach(() => {
    closing = [];
  });
  afterEach(async () => {
    if (redis !== undefined) await closeClient(redis);
    redis = undefined;
    for (const close of closing) await close();
  });

  type Hinted = Error & { code?: string; hint?: string };

  interface Failed {
    readonly event: Hinted;
    readonly call: Hinted;
  }

  /** The message is the given one, and the hint is where people look: in the property, the stack and `util.inspect`. */
  function expectHint(error: Hinted, message: string | RegExp, hint: RegExp): void {
    if (typeof message === "string") expect(error.message).to.equal(message);
    else expect(error.message).to.match(message);
    expect(error.hint).to.match(hint);
    expect(error.message).not.to.include(error.hint);
    expect(error.stack).to.include(error.hint);
    expect(inspect(error).split(error.hint as string)).to.have.length(2);
    expect(JSON.stringify(error)).not.to.include(error.hint);
  }

  /** The first error event, and the error of a command that waits for the connection. */
  async function failed(options: RedisOptions): Promise<Failed> {
    redis = new Redis({ host: "127.0.0.1", retryStrategy: null, ...options });
    const event = new Promise<Error>((resolve) => redis?.once("error", resolve));
    const call = await failureOf(redis.get("a"));
    return { event: await event, call };
  }

  async function listen(server: Server): Promise<number> {
    const sockets = new Set<Socket>();
    server.on("connection", (socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    return (server.address() as AddressInfo).port;
  }

  async function fake(start: Promise<FakeServer>): Promise<FakeServer> {
    const server = await start;
    closing.push(() => server.stop());
    return server;
  }

  it("a port at which nobody listens, and the client that has given up", async () => {
    const server = createServer();
    const port = await listen(server);
    await closing.pop()?.();
    const { event, call } = await failed({ port });
    expect(event.code).to.equal("ECONNREFUSED");
    expectHint(event, `connect ECONNREFUSED 127.0.0.1:${port}`, /No server accepts connections.*`port`/);
    expect(call.code).to.equal("CONNECTION_CLOSED");
    expect(call.hint).to.equal(event.hint);
  });

  it("a command of a module that the server does not have", async () => {
    const { port } = await sharedServer(ServerKind.Redis);
    redis = new Redis({ port });
    const error = await failureOf(redis.call("JSON.SET", "a", "$", "1"));
    expectHint(error as Hinted, /^ERR unknown command 'JSON.SET'/, /no module with this command/);
  });

  it("a command while there is no connection and none may wait", async () => {
    redis = new Redis({ lazyConnect: true, enableOfflineQueue: false });
    const failure: Hinted = await failureOf(redis.get("a"));
    expect(failure.message).to.match(/^Stream isn't writeable/);
    expect(failure.hint).to.match(/event `ready`/);
  });

  it("a script in the form of another client", () => {
    const scripts = { add: { NUMBER_OF_KEYS: 1, SCRIPT: "return 1" } } as unknown as RedisOptions["scripts"];
    expect(() => new Redis({ lazyConnect: true, scripts })).to.throw(/expected \{ lua, numberOfKeys \}/);
  });

  it("a unix socket that does not exist", async () => {
    const { event } = await failed({ path: "/nowhere/redis.sock" });
    expectHint(event, "connect ENOENT /nowhere/redis.sock", /No unix socket.*`path`/);
  });

  it("a client that was closed on purpose", async () => {
    const { host, port } = await sharedServer(ServerKind.Redis);
    redis = new Redis({ host, port });
    await redis.quit();
    expectHint(await failureOf(redis.get("a")), "Connection is closed.", /quit\(\).*connect\(\)/);
  });

  it("TLS on a plain port", async () => {
    const { port } = await sharedServer(ServerKind.Redis);
    const { event, call } = await failed({ port, tls: {}, connectTimeout: 300 });
    expect(event.code).to.equal("ETIMEDOUT");
    expectHint(event, "connect ETIMEDOUT", /TLS handshake.*option `tls`/);
    expect(call.cause).to.equal(event);
  });

  it("TLS on a port that answers in plain text", async () => {
    const port = await listen(createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
    expectHint(
      (await failed({ port, tls: {} })).event,
      /wrong version number|packet length/i,
      /does not speak TLS/,
    );
  });

  it("plain text on a TLS port", async () => {
    const certificates = new Certificates(["redis.example.org"]);
    const server = await ServerProcess.start({
      binary: await findServer(ServerKind.Redis),
      tls: certificates,
    });
    closing.push(() => server.stop());
    const { event } = await failed({ port: server.port });
    // With its alert, or with a reset that has overtaken it.
    expectHint(event, /RESP type 21|ECONNRESET/, /TLS.*option `tls`/);
  });

  it("a TLS alert in the place of an answer", async () => {
    const alert = Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46]);
    const port = await listen(createServer((socket) => socket.end(alert)));
    const { event } = await failed({ port });
    expectHint(event, /RESP type 21/, /speaks TLS at this port.*option `tls`/);
  });

  it("a port that accepts and says nothing", async () => {
    const port = await listen(createServer(() => {}));
    const { event } = await failed({ port, connectTimeout: 100 });
    expectHint(event, "connect ETIMEDOUT", /did not answer the handshake/);
  });

  for (const protocol of [2, 3] as const) {
    it(`an HTTP port, protocol ${protocol}`, async () => {
      const port = await listen(createHttpServer());
      const { event, call } = await failed({ port, protocol });
      expect(event).to.include({ code: "PROTOCOL" });
      expectHint(event, /RESP type 72/, /HTTP server.*port/);
      expect(call).to.equal(event);
    });

    it(`a node of a cluster, protocol ${protocol}`, async () => {
      const { port } = await fake(
        FakeServer.start(([name]) => (name === "get" ? new Error("MOVED 15495 127.0.0.1:7001") : undefined)),
      );
      redis = new Redis({ host: "127.0.0.1", port, protocol });
      expectHint(await failureOf(redis.get("a")), "MOVED 15495 127.0.0.1:7001", /new Cluster/);
    });

    it(`a password that is missing or wrong, protocol ${protocol}`, async () => {
      const server = await startServer(ServerKind.Redis, { config: { requirepass: "geheim" } });
      closing.push(() => server.stop());
      const missing = await failed({ port: server.port, protocol });
      expectHint(missing.event, /^NOAUTH [^(]*$/, /none is configured.*`password`/);
      expect(missing.call.message).to.equal(missing.event.message);
      await closeClient(redis as Redis);
      const wrong = await failed({ port: server.port, protocol, password: "falsch" });
      const said = "WRONGPASS invalid username-password pair or user is disabled.";
      expectHint(wrong.event, said, /`username` and `password`/);
      await closeClient(redis as Redis);
      redis = new Redis({ port: server.port, protocol, password: "geheim" });
      await redis.set("a", 1);
      await closeClient(redis);
    });

    it(`more clients than the server takes, protocol ${protocol}`, async () => {
      const server = await startServer(ServerKind.Redis, {});
      closing.push(() => server.stop());
      const first = new Redis({ port: server.port });
      await untilReady(first);
      await first.config("SET", "maxclients", "1");
      const { event, call } = await failed({ port: server.port, protocol });
      expectHint(event, "ERR max number of clients reached", /`maxclients`/);
      expect(call.cause).to.equal(event);
      await closeClient(first);
    });
  }

  it("protected mode, told before anything was asked", async () => {
    const denial = "-DENIED Redis is running in protected mode because no password is set.\r\n";
    const port = await listen(createServer((socket) => socket.end(denial)));
    const credentials = async (): Promise<object> => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return {};
    };
    for (const options of [{}, { protocol: 2 as const }, { credentials }]) {
      const { event, call } = await failed({ port, ...options });
      expectHint(event, denial.slice(1).trim(), /until it has a password/);
      expect(call.message).to.equal(event.message);
    }
  });

  it("a Sentinel", async () => {
    const { port } = await fake(
      FakeServer.start(([name]) =>
        name === "info"
          ? "redis_mode:sentinel\r\nloading:0\r\n"
          : name === "get"
            ? new RawReply("-ERR unknown command 'get', with args beginning with: 'a' \r\n")
            : undefined,
      ),
    );
    redis = new Redis({ host: "127.0.0.1", port });
    const said = "ERR unknown command 'get', with args beginning with: 'a' ";
    expectHint(await failureOf(redis.get("a")), said, /is a Sentinel.*`sentinels` and `name`/);
  });

  it("an object in the place of options, as other clients take them", async () => {
    const server = await sharedServer(ServerKind.Redis);
    redis = new Redis({ host: server.host, port: server.port });
    const options = { EX: 10 } as unknown as string;
    expectHint(
      await failureOf(redis.set("k", "v", options as "NX")),
      "ERR syntax error",
      /set\(key, value, "EX", 10\)/,
    );
    const member = { score: 1, value: "a" } as unknown as number;
    expectHint(
      await failureOf(redis.zadd("z", member, "a")),
      "ERR value is not a valid float",
      /An argument was an object/,
    );
    const misplaced = (await failureOf(redis.call("SET", "k", "v", "NOPE"))) as Hinted;
    expect(misplaced.hint).to.equal(undefined);
  });
});
