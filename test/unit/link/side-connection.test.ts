/** A second connection to a server, over a scripted one: where it dials, what it says, and how the attempt ends. */

import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ConnectionState } from "../../../src/connection/connection-state";
import type { LinkOptions } from "../../../src/link/link-options";
import { canReach, dialAgain, SideConnection } from "../../../src/link/side-connection";
import { Ending } from "../../support/ending";
import { FakeServer, NO_REPLY, status } from "../../support/fake-server";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const NO_HOOKS = { buffer: Buffer.alloc(1024), callback: () => true };

describe("a side connection", () => {
  it("is possible where the address of the server is known", () => {
    const known = { remoteAddress: "10.0.0.1", remotePort: 1 };
    expect([
      canReach({}, known),
      canReach({}, {}),
      canReach({}, null),
      canReach({ path: "/tmp/socket" }, {}),
      canReach({ path: "/tmp/socket" }, null),
      canReach({ Connector: class {} }, known),
      canReach({ path: "/tmp/socket", Connector: class {} }, {}),
    ]).to.deep.equal([true, false, false, true, false, false, false]);
  });

  describe("dials", () => {
    let listener: Server;
    let accepted: Promise<Buffer>;

    /** Listens, and resolves `accepted` with the first bytes of the first one who comes. */
    async function listen(where: { path: string } | { port: number; host: string }): Promise<void> {
      listener = createServer();
      accepted = new Promise((resolve) => {
        listener.once("connection", (socket: Socket) => {
          socket.once("data", (bytes) => {
            resolve(bytes);
            socket.destroy();
          });
          socket.on("error", () => {});
        });
      });
      await new Promise<void>((resolve) => listener.listen(where, resolve));
    }
    afterEach(() => new Promise((resolve) => listener.close(resolve)));

    const localPort = (): number => (listener.address() as { port: number }).port;

    it("the unix socket of the options", async () => {
      const path = join(tmpdir(), `side-${process.pid}.sock`);
      await listen({ path });
      const socket = dialAgain({ remoteAddress: "10.0.0.1", remotePort: 1 }, { path }, NO_HOOKS as never);
      socket.write("here");
      expect(String(await accepted)).to.equal("here");
      socket.destroy();
    });

    it("where the other one has arrived, and names the host of the options to TLS", async () => {
      for (const [tls, name] of [
        [{}, "from-the-options.test"],
        [{ servername: "its-own-name.test" }, "its-own-name.test"],
      ] as const) {
        await listen({ port: 0, host: "127.0.0.1" });
        const peer = { remoteAddress: "127.0.0.1", remotePort: localPort() };
        const options: LinkOptions = { host: "from-the-options.test", port: 1, tls };
        const socket = dialAgain(peer, options, NO_HOOKS as never);
        socket.on("error", () => {});
        expect((await accepted).toString("latin1")).to.contain(name);
        socket.destroy();
        listener.close();
      }
    });
  });

  describe("opens", () => {
    let server: FakeServer;

    beforeEach(async () => {
      server = await FakeServer.start();
    });
    afterEach(() => server.stop());

    const peer = () => ({ remoteAddress: server.host, remotePort: server.port });
    const said = (): string[] => server.received.map((words) => words.join(" ").toLowerCase());

    it("with the protocol and the credentials, and says nothing of its client", async () => {
      const options: LinkOptions = { protocol: 2, connectionName: "name", db: 3 } as LinkOptions;
      const side = new SideConnection(peer(), options, { username: "user", password: "pw" });
      const { connection } = side;
      expect(await side.opened()).to.equal(connection);
      expect([connection.state, said()]).to.deep.equal([ConnectionState.Ready, ["auth user pw"]]);
      connection.destroy();
    });

    it("in RESP3 unless the options say otherwise", async () => {
      server.handler = ([word]) => (word === "hello" ? status("OK") : undefined);
      const side = new SideConnection(peer(), {}, {});
      await side.opened();
      expect(said()[0]).to.equal("hello 3");
      side.connection.destroy();
    });

    it("not where nobody listens, or where the server hangs up", async () => {
      server.handler = (_words, { socket }) => {
        socket.destroy();
        return NO_REPLY;
      };
      const options = { protocol: 2 } as LinkOptions;
      for (const port of [server.port, 1]) {
        const side = new SideConnection({ ...peer(), remotePort: port }, options, { password: "a" });
        expect(await side.opened()).to.equal(null);
        expect(side.connection.state).to.equal(ConnectionState.Closed);
      }
    });

    it("and fails what is not answered when it is lost", async () => {
      const side = new SideConnection(peer(), { protocol: 2 } as LinkOptions, {});
      const { connection } = side;
      await side.opened();
      server.handler = () => NO_REPLY;
      const ending = new Ending();
      const question = new Command(specOf("client"), ["unblock", "5"], false, ending);
      question.origin = 1;
      connection.dispatch(question);
      while (server.received.length === 0) await turn();
      connection.destroy();
      await turn();
      expect([ending.times, ending.error?.message]).to.deep.equal([1, "Connection is closed."]);
    });
  });

  describe("in time", () => {
    let home: InVirtualTime<typeof import("../../../src/link/side-connection")>;
    let server: FakeServer;

    before(() => {
      home = inVirtualTime(() => require("../../../src/link/side-connection"));
    });
    beforeEach(async () => {
      home.time.reset();
      server = await FakeServer.start();
    });
    afterEach(() => server.stop());

    async function open() {
      const peer = { remoteAddress: server.host, remotePort: server.port };
      const side = new home.modules.SideConnection(peer, { protocol: 2 } as LinkOptions, { password: "pw" });
      const opened = side.opened();
      while (server.received.length === 0) {
        await home.pass(1);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return { connection: side.connection, opened };
    }

    it("is given up after two seconds in which the server says nothing", async () => {
      server.handler = () => NO_REPLY;
      const { connection, opened } = await open();
      await home.pass(1900);
      expect(connection.state).to.not.equal(ConnectionState.Closed);
      await home.pass(200);
      expect([await opened, connection.state]).to.deep.equal([null, ConnectionState.Closed]);
    });

    it("is given up at once where the server refuses it", async () => {
      server.handler = () => new Error("WRONGPASS no");
      const { connection, opened } = await open();
      expect(await opened).to.equal(null);
      while (connection.state !== ConnectionState.Closed) await turn();
    });

    it("leaves no timer", async () => {
      const { connection, opened } = await open();
      await opened;
      connection.destroy();
      while (connection.state !== ConnectionState.Closed) await turn();
      expect(home.time.pending).to.equal(0);
    });

    it("stays once it is open", async () => {
      const { connection, opened } = await open();
      while (connection.readyAtMs === 0) await new Promise((resolve) => setTimeout(resolve, 1));
      expect(await opened).to.equal(connection);
      await home.pass(10_000);
      expect(connection.state).to.equal(ConnectionState.Ready);
      connection.destroy();
    });
  });
});
