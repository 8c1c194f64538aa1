/** How one server is reached: when nothing is dialled, what is refused, and what sockets show of their secrets. */

import { EventEmitter } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect } from "chai";
import { ConnectionClosedError } from "../../../src/errors";
import { openSocket, refusingItself, TcpConnector } from "../../../src/link/tcp-connector";
import { failureOf } from "../../support/outcome";

const net = require("node:net") as typeof import("node:net");

describe("TcpConnector", () => {
  let server: Server;
  let accepted: Socket[];

  beforeEach(async () => {
    accepted = [];
    server = createServer((socket) => {
      socket.on("error", () => {});
      accepted.push(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(async () => {
    for (const socket of accepted) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  const address = () => ({ host: "127.0.0.1", port: (server.address() as { port: number }).port });

  /** The server has so many connections. */
  async function untilAccepted(count: number): Promise<void> {
    while (accepted.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  it("gives a socket while that is still connecting, with the hooks for its bytes", async () => {
    const buffer = Buffer.alloc(100);
    let heard = "";
    const hooks = {
      buffer: () => buffer,
      callback: (length: number) => {
        heard = buffer.toString("latin1", 0, length);
        return true;
      },
    };
    const socket = (await new TcpConnector(address()).connect(() => {}, hooks)) as Socket;
    expect(socket.connecting).to.equal(true);
    await untilAccepted(1);
    accepted[0]?.write("hello");
    while (heard === "") await new Promise((resolve) => setTimeout(resolve, 1));
    expect(heard).to.equal("hello");
    socket.destroy();
  });

  it("dials nothing when it is told to stop in the same run, and dials when it is asked again", async () => {
    const connector = new TcpConnector(address());
    const first = connector.connect(() => {});
    connector.disconnect();
    expect(await failureOf(first)).to.be.instanceOf(ConnectionClosedError);
    const socket = await connector.connect(() => {});
    await untilAccepted(1);
    socket.destroy();
    expect(accepted.length).to.equal(1);
  });

  it("prefers a path to an address", async () => {
    const path = join(tmpdir(), `connector-${process.pid}.sock`);
    const local = createServer((socket) => socket.end("local"));
    await new Promise<void>((resolve) => local.listen(path, resolve));
    const socket = openSocket({ ...address(), path });
    const text = await new Promise((resolve) => socket.on("data", (chunk) => resolve(String(chunk))));
    expect(text).to.equal("local");
    socket.destroy();
    await new Promise((resolve) => local.close(resolve));
  });

  it("dials from the local address of the options, which means nothing to a unix socket", () => {
    const targets: unknown[] = [];
    const { createConnection } = net;
    net.createConnection = ((target: object) => {
      targets.push(target);
      return new EventEmitter();
    }) as typeof createConnection;
    try {
      openSocket({ host: "h", port: 1, family: 6, localAddress: "10.0.0.1" });
      openSocket({ host: "h", port: 1, path: "/tmp/s", localAddress: "10.0.0.1" });
    } finally {
      net.createConnection = createConnection;
    }
    expect(targets).to.deep.equal([
      { host: "h", port: 1, family: 6, localAddress: "10.0.0.1" },
      { path: "/tmp/s" },
    ]);
  });

  it("shows no key and no passphrase of a TLS socket", async () => {
    const socket = openSocket({
      ...address(),
      tls: { passphrase: "secret-word", servername: "visible.test" },
    });
    socket.on("error", () => {});
    const shown = inspect(socket, { depth: 10, showHidden: true });
    expect(shown).to.contain("visible.test").and.not.contain("secret-word");
    socket.destroy();
    const plain = openSocket({ ...address(), tls: true });
    plain.on("error", () => {});
    await untilAccepted(1);
    const hello = await new Promise((resolve) => accepted[0]?.once("data", resolve));
    // The first byte of a handshake.
    expect((hello as Buffer)[0]).to.equal(22);
    plain.destroy();
  });

  describe("a socket that has reached itself", () => {
    function connected(ends: object): Error | null {
      let refusal: Error | null = null;
      const socket = Object.assign(new EventEmitter(), ends, {
        destroy: (error: Error) => {
          refusal = error;
        },
      });
      expect(refusingItself(socket as unknown as Socket)).to.equal(socket);
      socket.emit("connect");
      return refusal;
    }

    const here = { localAddress: "127.0.0.1", localPort: 5, remoteAddress: "127.0.0.1", remotePort: 5 };

    it("is refused as one where nobody listens", () => {
      expect(connected(here)).to.include({
        code: "ECONNREFUSED",
        syscall: "connect",
        port: 5,
        address: "127.0.0.1",
      });
    });

    it("is none with other ends, or none that are known", () => {
      for (const other of [
        { remotePort: 6 },
        { remoteAddress: "10.0.0.1" },
        { localPort: undefined, remotePort: undefined },
        { localAddress: undefined, localPort: undefined },
      ]) {
        expect(connected({ ...here, ...other }), JSON.stringify(other)).to.equal(null);
      }
    });
  });
});
