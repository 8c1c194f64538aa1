/** TLS sessions and contexts by address: who may share them. */

import { createServer, type Server } from "node:net";
import type * as tls from "node:tls";
import { expect } from "chai";
import sinon from "sinon";
import { connectTls } from "../../../src/link/tls-sessions";

describe("connectTls", () => {
  let server: Server;
  let target: { host: string; port: number };
  let contexts: sinon.SinonSpy;
  let sockets: tls.TLSSocket[];

  beforeEach(async () => {
    server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    target = { host: "127.0.0.1", port: (server.address() as { port: number }).port };
    contexts = sinon.spy(require("node:tls") as typeof tls, "createSecureContext");
    sockets = [];
  });
  afterEach(async () => {
    contexts.restore();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Whether a connection with these options reads certificates and keys anew. */
  function isNew(options: tls.ConnectionOptions): boolean {
    const before = contexts.callCount;
    const socket = connectTls(target, options);
    socket.on("error", () => {});
    sockets.push(socket);
    return contexts.callCount > before;
  }

  it("reads certificates and keys once for connections with equal options", () => {
    const options = (): tls.ConnectionOptions => ({
      ALPNProtocols: ["a", "b"],
      session: Buffer.from("s"),
      servername: "h",
    });
    expect(isNew(options())).to.equal(true);
    expect(isNew(options())).to.equal(false);
    expect(isNew({ ...options(), ALPNProtocols: ["a"] }), "fewer").to.equal(true);
    expect(isNew({ ...options(), ALPNProtocols: ["a", "c"] }), "others").to.equal(true);
    expect(isNew({ ...options(), servername: "i" })).to.equal(true);
    expect(isNew({ ...options(), servername: "i", rejectUnauthorized: false }), "one more").to.equal(true);
    expect(isNew({ ...options(), session: Buffer.from("t") }), "other bytes").to.equal(true);
  });

  it("notices that a program has changed its options", () => {
    const protocols = ["a"];
    expect(isNew({ ALPNProtocols: protocols })).to.equal(true);
    protocols.push("b");
    expect(isNew({ ALPNProtocols: protocols })).to.equal(true);
  });

  it("compares bytes with bytes only", () => {
    const bytes = (name: string): Buffer => Buffer.from(`\u0001${name}`);
    expect(isNew({ ALPNProtocols: bytes("a") })).to.equal(true);
    expect(isNew({ ALPNProtocols: bytes("a") })).to.equal(false);
    expect(isNew({ ALPNProtocols: bytes("b") })).to.equal(true);
    expect(isNew({ ALPNProtocols: ["b"] }), "a list").to.equal(true);
    expect(isNew({ ALPNProtocols: bytes("b") })).to.equal(true);
    expect(isNew({ ALPNProtocols: undefined })).to.equal(true);
  });

  /** The session that the next connection with equal options resumes. */
  function nextSession(): Buffer | undefined {
    const connects = sinon.spy(require("node:tls") as typeof tls, "connect");
    try {
      isNew({ servername: "h" });
      return (connects.firstCall.args[0] as tls.ConnectionOptions).session as Buffer | undefined;
    } finally {
      connects.restore();
    }
  }

  it("resumes the last session of an address, and forgets it when a connection has failed", () => {
    expect(nextSession()).to.equal(undefined);
    const session = Buffer.from("resumed");
    const last = (): tls.TLSSocket => sockets.at(-1) as tls.TLSSocket;
    last().emit("session", session);
    expect(nextSession()).to.equal(session);
    last().emit("secureConnect");
    last().emit("close");
    expect(nextSession(), "it was open").to.equal(session);
    last().emit("close");
    expect(nextSession(), "it was not").to.equal(undefined);
  });
});
