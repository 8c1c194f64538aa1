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
});
