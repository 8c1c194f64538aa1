/** The proxy does what its rules say; otherwise the tests that stand on it prove nothing. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import { FakeServer, RawReply } from "../support/fake-server";
import { Direction, FaultProxy } from "../support/fault-proxy";

const PING = "*1\r\n$4\r\nPING\r\n";
const PONG = "+PONG\r\n";

/** Unlike `once`, it does not mind an error before. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

describe("fault proxy", () => {
  let server: FakeServer;
  let proxy: FaultProxy;
  const sockets: Socket[] = [];

  async function open(): Promise<Socket> {
    const socket = connect(proxy.port, proxy.host);
    socket.setNoDelay(true);
    sockets.push(socket);
    await once(socket, "connect");
    return socket;
  }

  /** All that arrives until the connection ends, or `bytes` are there. */
  async function receive(socket: Socket, bytes = Number.POSITIVE_INFINITY): Promise<string[]> {
    const pieces: string[] = [];
    let length = 0;
    for await (const piece of socket.iterator({ destroyOnReturn: false })) {
      pieces.push(String(piece));
      length += piece.length;
      if (length >= bytes) break;
    }
    return pieces;
  }

  beforeEach(async () => {
    server = await FakeServer.start();
    proxy = await FaultProxy.start({ host: server.host, port: server.port });
  });

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await proxy.stop();
    await server.stop();
  });

  it("passes everything and counts it", async () => {
    const socket = await open();
    socket.write(PING);
    expect(await receive(socket, PONG.length)).to.deep.equal([PONG]);
    expect(proxy.counters.connections).to.equal(1);
    expect(proxy.counters.toServer).to.deep.equal({ bytes: PING.length, chunks: 1 });
    expect(proxy.counters.toClient).to.deep.equal({ bytes: PONG.length, chunks: 1 });
    proxy.resetCounters();
    expect(proxy.counters.toServer).to.deep.equal({ bytes: 0, chunks: 0 });
  });

  for (const style of ["end", "reset"] as const) {
    for (let bytes = 1; bytes < PONG.length; bytes += 2) {
      it(`cuts after ${bytes} bytes of a reply with ${style}`, async () => {
        proxy.cutAfter({ direction: Direction.ToClient, bytes, style });
        const socket = await open();
        const seen: string[] = [];
        const errors: NodeJS.ErrnoException[] = [];
        socket.on("data", (piece) => seen.push(String(piece)));
        socket.on("error", (error) => errors.push(error));
        socket.write(PING);
        await closed(socket);
        expect(seen.join("")).to.equal(PONG.slice(0, bytes));
        expect(errors.map(({ code }) => code)).to.deep.equal(style === "reset" ? ["ECONNRESET"] : []);
        // Only the first connection was to be cut.
        const next = await open();
        next.write(PING);
        expect((await receive(next, PONG.length)).join("")).to.equal(PONG);
      });
    }
  }

  it("cuts after a number of bytes of the client", async () => {
    proxy.cutAfter({ direction: Direction.ToServer, bytes: PING.length + 3, style: "end" });
    const socket = await open();
    socket.write(PING + PING);
    await receive(socket);
    await waitUntil(async () => server.openConnections === 0, {
      timeoutMs: 2_000,
      what: "the cut to arrive",
    });
    expect(server.received).to.deep.equal([["PING"]]);
  });

  it("hands bytes over in small pieces", async () => {
    server.handler = () => new RawReply("x".repeat(1_000));
    proxy.rechunk(1, Direction.ToClient);
    proxy.delay(1, Direction.ToClient);
    const socket = await open();
    socket.write(PING);
    expect((await receive(socket, 1_000)).join("")).to.equal("x".repeat(1_000));
  });

  it("holds bytes back and keeps their order", async () => {
    let number = 0;
    server.handler = () => ++number;
    proxy.delay(30);
    const socket = await open();
    const startedAt = performance.now();
    for (let count = 0; count < 5; count++) {
      socket.write(PING);
      await sleep(2);
    }
    const replies = (await receive(socket, 20)).join("");
    expect(replies).to.equal(":1\r\n:2\r\n:3\r\n:4\r\n:5\r\n");
    expect(performance.now() - startedAt).to.be.greaterThan(58);
  });

  it("falls silent without closing, and lets pass again when healed", async () => {
    const socket = await open();
    proxy.fallSilent();
    socket.write(PING);
    await sleep(30);
    expect(server.received).to.deep.equal([]);
    expect(proxy.openConnections).to.equal(1);
    proxy.heal();
    socket.write(PING);
    expect((await receive(socket, PONG.length)).join("")).to.equal(PONG);
  });

  it("stops reading, so that writes pile up", async () => {
    const socket = await open();
    proxy.stall(Direction.ToServer);
    // More than the kernel takes for both ends of a connection.
    socket.write(Buffer.alloc(64 * 1024 * 1024));
    await sleep(50);
    expect(socket.writableLength).to.be.greaterThan(0);
    socket.on("error", () => {});
    proxy.cutAll("reset");
    await closed(socket);
  });

  it("refuses and forwards elsewhere when told to", async () => {
    proxy.refuse();
    const refused = connect(proxy.port, proxy.host);
    const [error] = (await once(refused, "error")) as [NodeJS.ErrnoException];
    expect(error.code).to.equal("ECONNRESET");
    proxy.heal();
    const other = await FakeServer.start(() => "other");
    proxy.retarget({ host: other.host, port: other.port });
    const socket = await open();
    socket.write(PING);
    expect((await receive(socket, 11)).join("")).to.equal("$5\r\nother\r\n");
    socket.destroy();
    await other.stop();
  });
});
