/**
 * The commonest mistakes of a first connection name themselves: what it probably is, and what to do.
 * The text in front of the hint is what it always was.
 */

import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
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

  interface Failed {
    readonly event: Error & { code?: string };
    readonly call: Error & { code?: string; cause?: Error };
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

  it("TLS on a plain port", async () => {
    const { port } = await sharedServer(ServerKind.Redis);
    const { event, call } = await failed({ port, tls: {}, connectTimeout: 300 });
    expect(event.code).to.equal("ETIMEDOUT");
    expect(event.message).to.match(/^connect ETIMEDOUT \(.*may not speak TLS there.*option tls\)$/);
    expect(call.cause).to.equal(event);
  });

  it("TLS on a port that answers in plain text", async () => {
    const port = await listen(createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
    expect((await failed({ port, tls: {} })).event.message).to.match(/\(the server does not speak TLS/);
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
    expect(event.message).to.match(/speaks? TLS (?:only )?at this port.*option tls/);
  });

  it("a TLS alert in the place of an answer", async () => {
    const alert = Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46]);
    const port = await listen(createServer((socket) => socket.end(alert)));
    const { event } = await failed({ port });
    expect(event.message).to.match(/\(the server speaks TLS at this port: set the option tls/);
  });

  it("a port that accepts and says nothing", async () => {
    const port = await listen(createServer(() => {}));
    const { event } = await failed({ port, connectTimeout: 100 });
    expect(event.message).to.match(/^connect ETIMEDOUT \(.*handshake was not answered/);
  });

  for (const protocol of [2, 3] as const) {
    it(`an HTTP port, protocol ${protocol}`, async () => {
      const port = await listen(createHttpServer());
      const { event, call } = await failed({ port, protocol });
      expect(event).to.include({ code: "PROTOCOL" });
      expect(event.message).to.match(/\(the server answers like one for HTTP: check the port\)$/);
      expect(call.cause).to.equal(event);
    });

    it(`a node of a cluster, protocol ${protocol}`, async () => {
      const { port } = await fake(
        FakeServer.start(([name]) => (name === "get" ? new Error("MOVED 15495 127.0.0.1:7001") : undefined)),
      );
      redis = new Redis({ host: "127.0.0.1", port, protocol });
      const { message } = await failureOf(redis.get("a"));
      expect(message).to.match(/^MOVED 15495 127\.0\.0\.1:7001 \(.*connect with new Cluster/);
    });

    it(`a password that is missing or wrong, protocol ${protocol}`, async () => {
      const server = await startServer(ServerKind.Redis, { config: { requirepass: "geheim" } });
      closing.push(() => server.stop());
      const missing = await failed({ port: server.port, protocol });
      expect(missing.event.message).to.match(/^NOAUTH .*\(.*none was given: set the options password/s);
      expect(missing.call.message).to.equal(missing.event.message);
      await closeClient(redis as Redis);
      const wrong = await failed({ port: server.port, protocol, password: "falsch" });
      expect(wrong.event.message).to.match(/^WRONGPASS .*\(.*check the options username and password\)$/);
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
      expect(event.message).to.match(/^ERR max number of clients reached \(.*maxclients\)$/);
      expect(call.message).to.equal(event.message);
      await closeClient(redis as Redis);
      const again = await failed({ port: server.port, protocol, maxRetriesPerRequest: 0 });
      expect(again.call.message).to.match(/^ERR max number of clients/);
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
      expect(event.message).to.match(/^DENIED .*\(.*until a password is set there/);
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
    expect((await failureOf(redis.get("a"))).message).to.match(
      /^ERR unknown command .*\(the server is a Sentinel.*options sentinels and name\)$/,
    );
  });
});
