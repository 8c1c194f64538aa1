/** The verdicts of the second connection on a silent one, over a scripted server, and answers that say nothing about it. */

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect } from "chai";
import type { Connection } from "../../../src/connection/connection";
import type { Credentials } from "../../../src/connection/handshake";
import type { LinkOptions } from "../../../src/link/link-options";
import { probe, type Verdict } from "../../../src/link/probe";
import { type Peer, SideConnection } from "../../../src/link/side-connection";
import { clockMs } from "../../../src/util/scheduling";
import { type FakeReply, FakeServer, NO_REPLY, RawReply } from "../../support/fake-server";

const SILENT_MS = 10_000;

interface Row {
  readonly id?: number;
  readonly addr?: string;
  readonly age?: number;
  readonly idle?: number;
  readonly flags?: string;
  readonly qbuf?: number;
  readonly cmd?: string;
}

function row({
  id = 5,
  addr = "10.0.0.1:4000",
  age = 60,
  idle = 20,
  flags = "N",
  qbuf = 0,
  cmd = "get",
}: Row): string {
  return `id=${id} addr=${addr} name= age=${age} idle=${idle} flags=${flags} db=0 qbuf=${qbuf} cmd=${cmd} \n`;
}

describe("probe", () => {
  let server: FakeServer;
  let rows: Row[];
  /** Answers of the server in the place of its usual ones, by the first word or words. */
  let script: Map<string, FakeReply>;
  let silent: Record<string, unknown>;

  beforeEach(async () => {
    rows = [{}];
    script = new Map();
    server = await FakeServer.start((words) => {
      const text = words.join(" ").toLowerCase();
      for (const [start, reply] of script) if (text.startsWith(start)) return reply;
      if (text === "info server") return "# Server\r\nrun_id:abc\r\n";
      return text.startsWith("client list") ? rows.map(row).join("") : undefined;
    });
    silent = {
      clientId: 5,
      serverRunId: "abc",
      readyAtMs: clockMs() - 60_000,
      socket: {
        remoteAddress: server.host,
        remotePort: server.port,
        localAddress: "10.0.0.1",
        localPort: 4000,
      },
      queue: { head: () => ({ spec: { lowerName: "blpop" } }) },
    };
  });
  afterEach(() => server.stop());

  interface How {
    readonly options?: LinkOptions;
    readonly credentials?: Credentials;
    readonly timeoutMs?: number;
  }

  const open = ({ options = {}, credentials = {} }: How = {}): SideConnection =>
    new SideConnection(silent["socket"] as Peer, options, credentials);

  function verdict(how: How = {}, side = open(how)): Promise<Verdict> {
    return probe(side, silent as unknown as Connection, SILENT_MS, how.timeoutMs ?? 2000);
  }

  const asked = (): string[] => server.received.map((words) => words.join(" ")).slice(1);

  it("asks for the run of the server and for the row of the connection, and closes its own", async () => {
    expect(await verdict()).to.equal("dead");
    expect(asked()).to.deep.equal(["info server", "client list id 5"]);
    while (server.openConnections > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it("believes that the connection is dead when the server has nothing to do for it", async () => {
    for (const [own, wanted] of [
      [{ idle: 20 }, "dead"],
      [{ idle: 8 }, "dead"],
      [{ idle: 7 }, "served"],
      [{ idle: 0 }, "served"],
      [{ flags: "b" }, "busy"],
      [{ flags: "xb" }, "busy"],
      [{ idle: 1, qbuf: 30 }, "busy"],
      [{ idle: 2, qbuf: 30 }, "served"],
      [{ idle: 20, qbuf: 30 }, "dead"],
      // Younger than the connection: the number is that of another server.
      [{ age: 10 }, "unknown"],
      [{ age: 59 }, "dead"],
    ] as const) {
      rows = [{ id: 4, flags: "b" }, own];
      expect(await verdict(), JSON.stringify(own)).to.equal(wanted);
    }
  });

  it("takes a connection that the same run of the server does not know for dead", async () => {
    rows = [{ id: 4 }];
    expect(await verdict()).to.equal("dead");
    silent["serverRunId"] = null;
    expect(await verdict(), "perhaps another server").to.equal("unknown");
    rows = [{ id: 4, flags: "b", cmd: "blpop" }];
    expect(await verdict(), "others wait there for the same").to.equal("busy");
    rows = [{ id: 4, flags: "b", cmd: "brpop" }];
    expect(await verdict()).to.equal("unknown");
  });

  it("believes no other run of a server, whatever it lists", async () => {
    silent["serverRunId"] = "another";
    expect(await verdict()).to.equal("unknown");
    script.set("info", new Error("NOPERM"));
    expect(await verdict(), "the run is not told, the row counts").to.equal("dead");
  });

  it("believes no list in which it is not itself", async () => {
    script.set("hello", new RawReply("%1\r\n$2\r\nid\r\n:77\r\n"));
    rows = [{ id: 5 }];
    expect(await verdict()).to.equal("unknown");
    expect(asked()).to.include("client list id 5 77");
    rows = [{ id: 5 }, { id: 77 }];
    expect(await verdict()).to.equal("dead");
  });

  it("finds the connection by its address when its number is not known", async () => {
    silent["clientId"] = null;
    rows = [{ id: 9, addr: "10.0.0.1:4001", idle: 0 }, { id: 5 }];
    expect(await verdict()).to.equal("dead");
    expect(asked()).to.include("client list");
    silent["socket"] = { ...(silent["socket"] as object), localAddress: "::ffff:10.0.0.1", localPort: 4001 };
    expect(await verdict()).to.equal("served");
    silent["socket"] = { ...(silent["socket"] as object), localPort: 4999 };
    expect(await verdict(), "translated on the way").to.equal("unknown");
  });

  it("asks servers before 6.2 for the whole list, and gives up where it may not see it", async () => {
    script.set("client list id", new Error("ERR syntax error"));
    expect(await verdict()).to.equal("dead");
    script.set("client list id", new Error("NOPERM no"));
    expect(await verdict()).to.equal("unknown");
    script.set("client list id", new Error("ERR syntax error"));
    script.set("client list", new Error("NOPERM no"));
    expect(await verdict()).to.equal("unknown");
  });

  it("takes a refusal for work only if it says so", async () => {
    for (const [said, wanted] of [
      ["BUSY Redis is busy running a script", "busy"],
      ["LOADING Redis is loading the dataset in memory", "busy"],
      ["WRONGPASS no", "unknown"],
      ["ERR max number of clients reached", "unknown"],
    ] as const) {
      script.set("hello", new Error(said));
      expect(await verdict(), said).to.equal(wanted);
    }
  });

  it("takes silence of what has accepted it for work", async () => {
    script.set("hello", NO_REPLY);
    expect(await verdict({ timeoutMs: 50 })).to.equal("busy");
    expect(server.connectionCount).to.equal(1);
  });

  it("takes a server that hangs up without a word for gone, and one that has said something not", async () => {
    const tls = { rejectUnauthorized: false };
    for (const [said, options, wanted] of [
      ["", {}, "unreachable"],
      ["HTTP/1.1 400 Bad Request\r\n", {}, "unknown"],
      ["", { tls }, "unreachable"],
      ["HTTP/1.1 400 Bad Request\r\n", { tls }, "unknown"],
    ] as const) {
      const other = createServer((socket) =>
        socket
          .on("error", () => {})
          .resume()
          .end(said),
      );
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
      const { port } = other.address() as AddressInfo;
      silent["socket"] = { remoteAddress: "127.0.0.1", remotePort: port };
      expect(await verdict({ options }), `${said} ${Object.keys(options)}`).to.equal(wanted);
      await new Promise((resolve) => other.close(resolve));
    }
  });

  it("says that nothing is reached where nobody listens", async () => {
    await server.stop();
    expect(await verdict()).to.equal("unreachable");
    expect(await verdict({ options: { path: `/tmp/nobody-listens-${process.pid}` } })).to.equal(
      "unreachable",
    );
  });

  it("says that it does not know when it is stopped, or its credentials cannot be read", async () => {
    script.set("hello", NO_REPLY);
    const side = open();
    const isStopped = verdict({}, side);
    side.connection.destroy(new Error("stopped"));
    expect(await isStopped).to.equal("unknown");
    const credentials = {
      get password(): string {
        throw new Error("the vault is shut");
      },
    };
    expect(await verdict({ credentials })).to.equal("unknown");
  });
});
