/** The fault proxy alters when bytes arrive, never in which order. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect } from "chai";
import { FaultProxy } from "../../src/testing";

const PIECES = 600;
const PIECE_BYTES = 40_000;

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
