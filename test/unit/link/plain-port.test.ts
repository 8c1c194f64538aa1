/** A port that does not answer a TLS handshake: when it is asked in plain text, and what its answer means. */

import { EventEmitter } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { expect } from "chai";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

/** More than the silence after which a server is asked. */
const SILENCE_MS = 1000;

describe("checkPlainPort", () => {
  let home: InVirtualTime<typeof import("../../../src/link/plain-port")>;
  let server: Server;
  let sockets: Socket[];
  let asked: string;
  let reply: string;
  let isPlain: boolean;
  let stop: () => void;
  let dialled: EventEmitter & { encrypted: boolean; remoteAddress?: string; remotePort?: number };

  before(() => {
    home = inVirtualTime(() => require("../../../src/link/plain-port"));
  });

  beforeEach(async () => {
    home.time.reset();
    [sockets, asked, reply, isPlain] = [[], "", "+PONG\r\n", false];
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {});
      socket.on("data", (chunk) => {
        asked += chunk;
        socket.write(reply);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    dial(true);
  });

  afterEach(async () => {
    stop();
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  });

  function dial(encrypted: boolean): void {
    const remotePort = (server.address() as { port: number }).port;
    dialled = Object.assign(new EventEmitter(), { encrypted, remoteAddress: "127.0.0.1", remotePort });
    stop = home.modules.checkPlainPort(dialled as never, () => {
      isPlain = true;
    });
  }

  const until = (isSo: () => boolean, what: string): Promise<void> =>
    waitUntil(() => Promise.resolve(isSo()), { timeoutMs: 5000, what });

  for (const [what, said, expected] of [
    ["answers PING", "+PONG\r\n", true],
    ["answers with an error", "-NOAUTH Authentication required.\r\n", true],
    ["sends a TLS alert", "\x15\x03\x01\x00\x02\x02\x46", false],
  ] as const) {
    it(`${expected ? "is sure of" : "does not suspect"} a server that ${what} in plain text`, async () => {
      reply = said;
      dialled.emit("connect");
      await home.pass(SILENCE_MS);
      await until(() => sockets.length === 1 && sockets[0]?.destroyed === true, "the end of the question");
      expect([asked, isPlain]).to.deep.equal(["PING\r\n", expected]);
    });
  }

  it("does not ask a server that completes its handshake in time, and none without TLS", async () => {
    dialled.emit("connect");
    await home.pass(SILENCE_MS / 4);
    dialled.emit("secureConnect");
    dial(false);
    dialled.emit("connect");
    await home.pass(SILENCE_MS);
    expect([home.time.pending, sockets.length]).to.deep.equal([0, 0]);
  });

  it("does not ask once the connection is closed, or its address is not known", async () => {
    dialled.emit("connect");
    dialled.emit("close");
    dial(true);
    delete dialled.remoteAddress;
    dialled.emit("connect");
    await home.pass(SILENCE_MS);
    expect([home.time.pending, sockets.length]).to.deep.equal([0, 0]);
  });

  it("asks no longer than a second", async () => {
    reply = "";
    dialled.emit("connect");
    await home.pass(SILENCE_MS);
    await until(() => asked !== "", "the question");
    expect(sockets[0]?.destroyed).to.equal(false);
    await home.pass(1000);
    await until(() => sockets[0]?.destroyed === true, "the end of the question");
    expect([home.time.pending, isPlain]).to.deep.equal([0, false]);
  });

  it("learns nothing from a server that is gone by then", async () => {
    await new Promise((resolve) => server.close(resolve));
    dialled.emit("connect");
    await home.pass(SILENCE_MS);
    await until(() => home.time.pending === 0, "the end of the question");
    expect(isPlain).to.equal(false);
  });
});
