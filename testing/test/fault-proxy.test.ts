/** The fault proxy alters when bytes arrive, never in which order. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect } from "chai";
import { FaultProxy, RealCluster, RealServer, TestServer } from "../src";

const PIECES = 600;
const PIECE_BYTES = 40_000;

describe("options of the test kit", () => {
  const wrong: [string, () => unknown, RegExp][] = [
    [
      "a target",
      () => FaultProxy.start({ to: { port: 1 } } as never),
      /FaultProxy\.start\(\) takes the address/,
    ],
    ["a proxy", () => FaultProxy.start({ port: 1 }, { recrd: true } as never), /no option "recrd".*record/],
    ["a server", () => TestServer.start({ verson: "8.2" } as never), /no option "verson".*version/],
    [
      "a server in memory",
      () => Promise.resolve().then(() => TestServer.inMemory({ port: 1, tls: true } as never)),
      /"tls"/,
    ],
    ["a process", () => RealServer.start({ password: "a" } as never), /no option "password"/],
    ["a cluster", () => RealCluster.start({ nodes: 3 } as never), /no option "nodes".*masters/],
  ];
  for (const [name, start, message] of wrong) {
    it(`that are unknown are refused: ${name}`, async () => {
      const failure = await Promise.resolve(start()).then(
        () => null,
        (error: Error) => error,
      );
      expect(failure).to.be.instanceOf(TypeError);
      expect(failure?.message).to.match(message);
    });
  }
});

describe("fault proxy", function () {
  this.timeout(30_000);

  for (const [name, apply] of [
    ["a limited rate", (proxy: FaultProxy) => proxy.limitRate(100e6)],
    ["a delay that is taken away", (proxy: FaultProxy) => proxy.delay(3)],
  ] as const) {
    it(`keeps the order of bytes under ${name}`, async () => {
      const sent = Buffer.alloc(PIECES * PIECE_BYTES);
      for (let index = 0; index < sent.length; index++) sent[index] = index % 251;
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        sockets.add(socket);
        for (let piece = 0; piece < PIECES; piece++)
          socket.write(sent.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES));
        socket.end();
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const proxy = await FaultProxy.start({
        host: "127.0.0.1",
        port: (server.address() as AddressInfo).port,
      });
      apply(proxy);
      const client = connect(proxy.port, proxy.host);
      const chunks: Buffer[] = [];
      client.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        if (chunks.length === 5) proxy.delay(0);
      });
      await once(client, "close");
      const received = Buffer.concat(chunks);
      expect(received.length).to.equal(sent.length);
      expect(received.equals(sent)).to.equal(true);
      await proxy.stop();
      for (const socket of sockets) socket.destroy();
      server.close();
    });
  }
});

describe("the cut of a fault proxy", () => {
  for (const [what, before] of [
    ["of a connection that is there, from now on", 500],
    ["of a new connection, from its start", 0],
  ] as const) {
    it(`counts the bytes ${what}`, async () => {
      let serverEnd: Socket | undefined;
      const server = createServer((socket) => {
        serverEnd = socket;
        socket.on("error", () => {});
        if (before > 0) socket.write(Buffer.alloc(before));
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const proxy = await FaultProxy.start({ host: "127.0.0.1", port });
      if (before === 0) proxy.cut({ afterBytes: 10 });
      const client = connect(proxy.port, proxy.host);
      let received = 0;
      client.on("data", (chunk: Buffer) => {
        received += chunk.length;
      });
      client.on("error", () => {});
      const closed = new Promise((resolve) => client.once("close", resolve));
      if (before === 0) await once(server, "connection");
      else {
        await once(client, "data");
        proxy.cut({ afterBytes: 10 });
      }
      serverEnd?.write(Buffer.alloc(1_000));
      await closed;
      expect(received).to.equal(before + 10);
      await proxy.stop();
      server.close();
    });
  }
});
