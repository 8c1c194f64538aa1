/** Socket options reach every socket; sockets that fail early; addresses of unix sockets as in ioredis. */

import * as net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { parseUrl } from "../../src/client/options/parse-url";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { dialAgain } from "../../src/link/side-connection";
import { FakeServer } from "../support/fake-server";
import { closeClient, untilReady } from "../support/matrix";
import { failureOf } from "../support/outcome";

const LOCAL = "127.0.0.2";

describe("sockets", () => {
  const closing: (() => unknown)[] = [];

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  function connect(options: RedisOptions | string): Redis {
    const redis = new Redis(options as RedisOptions);
    redis.on("error", () => {});
    closing.push(() => closeClient(redis));
    return redis;
  }

  /** A server in front of another one that notes where its peers come from. */
  async function listen(
    target: net.NetConnectOpts,
  ): Promise<{ port: number; peers: (string | undefined)[] }> {
    const peers: (string | undefined)[] = [];
    const server = net.createServer((socket) => {
      peers.push(socket.remoteAddress);
      const other = net.connect(target);
      for (const one of [socket, other]) one.on("error", () => {});
      socket.on("close", () => other.destroy());
      socket.pipe(other).pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    return { port: (server.address() as net.AddressInfo).port, peers };
  }

  async function fake(...args: Parameters<typeof FakeServer.start>): Promise<FakeServer> {
    const server = await FakeServer.start(...args);
    closing.push(() => server.stop());
    return server;
  }

  it("to servers, Sentinels and side connections have the local address of the options", async () => {
    const server = await listen(await fake());
    const sentinel = await listen(
      await fake(([, subcommand]) =>
        subcommand === "get-master-addr-by-name" ? ["127.0.0.1", String(server.port)] : undefined,
      ),
    );
    const redis = connect({
      sentinels: [{ host: "127.0.0.1", port: sentinel.port }],
      name: "mymaster",
      localAddress: LOCAL,
    });
    await untilReady(redis);
    const side = dialAgain(redis.stream as net.Socket, redis.options, {
      buffer: () => Buffer.alloc(1),
      callback: () => true,
    });
    await new Promise((resolve) => side.once("connect", resolve));
    side.destroy();
    expect(server.peers).to.deep.equal([LOCAL, LOCAL]);
    expect(sentinel.peers.length).to.be.greaterThan(0);
    expect(new Set(sentinel.peers)).to.deep.equal(new Set([LOCAL]));
  });

  it("are reached by unix:/path, as in ioredis", async () => {
    for (const address of ["unix:/tmp/redis.sock", "unix:///tmp/redis.sock"]) {
      expect(parseUrl(address)).to.deep.equal({ path: "/tmp/redis.sock" });
    }
    expect(parseUrl("unix:/tmp/redis.sock?db=2")).to.deep.equal({ path: "/tmp/redis.sock", db: "2" });
    const path = join(tmpdir(), `sluice-${process.pid}.sock`);
    const { port } = await fake();
    const server = net.createServer((socket) => {
      const other = net.connect(port, "127.0.0.1");
      socket.on("close", () => other.destroy());
      socket.pipe(other).pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    closing.push(() => server.close());
    expect(await connect(`unix:${path}`).ping()).to.equal("PONG");
  });

  it("come from net.createConnection, which programs replace", async () => {
    const { port } = await fake();
    const { createConnection } = net;
    const patched = require("node:net") as { createConnection: unknown };
    let made = 0;
    patched.createConnection = (options: net.NetConnectOpts) => {
      made++;
      return createConnection(options);
    };
    closing.push(() => {
      patched.createConnection = createConnection;
    });
    expect(await connect({ host: "127.0.0.1", port }).ping()).to.equal("PONG");
    expect(made).to.equal(1);
  });

  it("that are destroyed before they are returned give one error", async () => {
    const { createConnection } = net;
    const patched = require("node:net") as { createConnection: unknown };
    patched.createConnection = () => new net.Socket().destroy(new Error("no way out"));
    closing.push(() => {
      patched.createConnection = createConnection;
    });
    const errors: Error[] = [];
    const redis = connect({ retryStrategy: null });
    redis.on("error", (error) => errors.push(error));
    const failure = await failureOf(redis.ping());
    expect(failure).to.include({ code: "CONNECTION_CLOSED" });
    expect(errors.map(({ message }) => message)).to.deep.equal(["no way out"]);
    expect(failure.cause).to.equal(errors[0]);
  });

  it("whose TLS settings cannot be had are failed attempts", async () => {
    let asked = 0;
    const tls = (): never => {
      throw new Error(`no key ${++asked}`);
    };
    const redis = connect({ tls, retryStrategy: () => 1, maxRetriesPerRequest: 2 });
    const failure = await failureOf(redis.ping());
    expect(failure).to.include({ code: "MAX_RETRIES" });
    expect(failure.cause).to.have.property("message", "no key 3");
    const promised = connect({ tls: (async () => ({})) as never, retryStrategy: null });
    const error = new Promise((resolve) => promised.once("error", resolve));
    expect(await error).to.include({ code: "INVALID_OPTION" });
  });
});
