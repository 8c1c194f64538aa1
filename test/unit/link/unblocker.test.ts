/** Blocking calls whose callers have given up, over a scripted server: when it is told, and who gets what comes of it. */

import { expect } from "chai";
import sinon from "sinon";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { PromiseCompletion } from "../../../src/command/promise-completion";
import { ConnectionState } from "../../../src/connection/connection-state";
import type { CredentialSource } from "../../../src/link/credentials";
import type { LinkOptions } from "../../../src/link/link-options";
import { Unblocker } from "../../../src/link/unblocker";
import { deadlines } from "../../../src/util/deadlines";
import { FakeServer, NO_REPLY } from "../../support/fake-server";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

const UNBLOCKED = new Error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
const SHAPE = { protocol: 2, replyMapping: "legacy" } as const;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const shortly = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

async function until(isTrue: () => boolean, wait = shortly): Promise<void> {
  const startedAt = performance.now();
  while (!isTrue()) {
    expect(performance.now() - startedAt, "ms waited").to.be.below(10_000);
    await wait();
  }
}

describe("Unblocker", () => {
  let server: FakeServer;
  /** The list of clients, and the answer of CLIENT UNBLOCK. */
  let flags: string;
  let cmd: string;
  let ended: number | Error;
  let listed: Error | null;
  let unblocker: Unblocker;
  let current: { connection: Record<string, unknown> | null; resend(command: Command): void };
  let queue: { answered: number };
  let resent: Command[];
  /** The limit after which a caller gets null in any case does not expire, however busy the machine is. */
  let limit: sinon.SinonStub;

  beforeEach(async () => {
    limit = sinon.stub(deadlines, "schedule");
    [flags, cmd, ended, listed] = ["b", "blpop", 1, null];
    server = await FakeServer.start((words) => {
      const text = words.join(" ").toLowerCase();
      if (text.startsWith("client list"))
        return (
          listed ??
          `id=4 addr=1.1.1.1:1 flags=b cmd=blpop \nid=5 addr=10.0.0.1:4000 flags=${flags} cmd=${cmd} \n`
        );
      return text.startsWith("client unblock") ? ended : undefined;
    });
    make();
  });

  afterEach(async () => {
    limit.restore();
    unblocker.stop();
    await server.stop();
  });

  function make(options: LinkOptions = {}, credentials: CredentialSource["credentials"] = () => ({})): void {
    queue = { answered: 0 };
    resent = [];
    current = {
      connection: {
        state: ConnectionState.Ready,
        clientId: 5,
        queue,
        socket: {
          remoteAddress: server.host,
          remotePort: server.port,
          localAddress: "::ffff:10.0.0.1",
          localPort: 4000,
        },
      },
      resend: (command) => void resent.push(command),
    };
    unblocker = new Unblocker(current as never, options, { credentials });
  }

  /** A call that was written as the one of this number. */
  function call(place: number): Command {
    const command = new Command(specOf("blpop"), ["k", "0"], false, new PromiseCompletion());
    command.ensureExtra().place = place;
    command.promise.catch(() => {});
    return command;
  }

  const told = (): string[] =>
    server.received.map((words) => words.join(" ")).filter((text) => text.startsWith("client unblock"));

  it("tells the server to end the call, and its caller null when the server has", async () => {
    const command = call(0);
    unblocker.recall(command);
    await until(() => told().length > 0);
    expect(command.isSettled).to.equal(false);
    expect(unblocker.takes(command, UNBLOCKED)).to.equal(true);
    expect(await command.promise).to.equal(null);
    expect(command.extra?.isLeftBlocked, "the server has ended it").to.not.equal(true);
    expect(told()).to.deep.equal(["client unblock 5 error"]);
    const asked = server.received.map((words) => words.join(" "));
    expect(asked.filter((text) => text.startsWith("client list"))).to.deep.equal(["client list id 5"]);
  });

  it("takes an error for its own only as often as it has told", async () => {
    const command = call(0);
    expect(unblocker.takes(command, UNBLOCKED), "somebody else has unblocked it").to.equal(false);
    unblocker.recall(command);
    await until(() => told().length > 0);
    await turn();
    expect(unblocker.takes(command, new Error("WRONGTYPE")), "another error").to.equal(false);
    expect(unblocker.takes(command, UNBLOCKED)).to.equal(true);
    expect(unblocker.takes(call(1), UNBLOCKED)).to.equal(false);
    await command.promise;
  });

  it("passes over a call that has ended for its caller by itself", async () => {
    const command = call(0);
    command.fail(new Error("aborted"));
    unblocker.recall(command);
    await until(() => told().length > 0);
    expect(unblocker.takes(command, UNBLOCKED)).to.equal(true);
    expect(resent).to.deep.equal([]);
  });

  it("sends a call again that was hit in the place of the one before it", async () => {
    unblocker.recall(call(0));
    await until(() => told().length > 0);
    const behind = call(1);
    expect(unblocker.takes(behind, UNBLOCKED)).to.equal(true);
    expect(behind.isSettled).to.equal(false);
    expect(resent).to.deep.equal([behind]);
    behind.fail(new Error("the test is over"));
    queue.answered = 2;
    unblocker.stop();
  });

  it("waits until the call is the oldest one: another one must not be hit", async () => {
    const command = call(3);
    unblocker.recall(command);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(server.received).to.deep.equal([]);
    queue.answered = 3;
    await until(() => told().length > 0);
  });

  it("waits until the server has come to the call", async () => {
    for (const [before, after] of [
      [
        { flags: "N", cmd: "blpop" },
        { flags: "b", cmd: "blpop" },
      ],
      [
        { flags: "b", cmd: "brpop" },
        { flags: "b", cmd: "blpop" },
      ],
    ] as const) {
      make();
      server.received.length = 0;
      ({ flags, cmd } = before);
      const command = call(0);
      unblocker.recall(command);
      await until(() => server.received.filter(([, word]) => word === "list").length > 3);
      expect(told()).to.deep.equal([]);
      ({ flags, cmd } = after);
      await until(() => told().length > 0);
      expect(unblocker.takes(command, UNBLOCKED)).to.equal(true);
      unblocker.stop();
    }
  });

  it("tells nothing about a call that was answered meanwhile", async () => {
    flags = "N";
    const command = call(0);
    unblocker.recall(command);
    await until(() => server.received.some(([, word]) => word === "list"));
    queue.answered = 1;
    command.fulfil(["k", "v"], SHAPE);
    await until(() => unblockerIsIdle());
    expect(told()).to.deep.equal([]);
    expect(await command.promise).to.deep.equal(["k", "v"]);
  });

  it("asks no more about a connection that is closing", async () => {
    flags = "N";
    unblocker.recall(call(0));
    await until(() => server.received.some(([, word]) => word === "list"));
    (current.connection as { state: number }).state = ConnectionState.Draining;
    await until(() => unblockerIsIdle());
    expect(told()).to.deep.equal([]);
  });

  /** Nothing is asked for a while. */
  function unblockerIsIdle(): boolean {
    return (unblocker as unknown as { isRunning: boolean }).isRunning === false;
  }

  it("does not take errors for its own after an UNBLOCK that came too late", async () => {
    ended = 0;
    unblocker.recall(call(0));
    await until(() => told().length > 1);
    queue.answered = 1;
    await until(() => unblockerIsIdle());
    expect(unblocker.takes(call(1), UNBLOCKED)).to.equal(false);
  });

  it("tells the caller null, and that the server still blocks, where it cannot say so", async () => {
    const impossible: [string, () => void][] = [
      ["no connection", () => (current.connection = null)],
      [
        "one that is not ready",
        () => ((current.connection as { state: number }).state = ConnectionState.Draining),
      ],
      ["a connector of the user's", () => make({ Connector: class {} })],
      ["credentials that cannot be read", () => make({}, () => Promise.reject(new Error("no secret")))],
      ["a list that is not shown", () => (listed = new Error("NOPERM"))],
      ["an UNBLOCK that is not allowed", () => (ended = new Error("NOPERM"))],
      ["a list without the connection", () => ((current.connection as { clientId: number }).clientId = 6)],
    ];
    for (const [name, prepare] of impossible) {
      [ended, listed] = [1, null];
      make();
      prepare();
      const command = call(0);
      unblocker.recall(command);
      expect(await command.promise, name).to.equal(null);
      expect(command.extra?.isLeftBlocked, name).to.equal(true);
      unblocker.stop();
    }
  });

  it("tells the caller null in any case after a while", async () => {
    limit.restore();
    flags = "N";
    const command = call(0);
    unblocker.recall(command);
    expect(await command.promise).to.equal(null);
    expect(command.extra?.isLeftBlocked).to.equal(true);
    // The server is told all the same: the element must not go to a call that nobody awaits.
    flags = "b";
    await until(() => told().length > 0);
  });

  it("finds the connection by its address where it has no number, and asks old servers for all clients", async () => {
    (current.connection as { clientId: null }).clientId = null;
    unblocker.recall(call(0));
    await until(() => told().length > 0);
    expect(told()).to.deep.equal(["client unblock 5 error"]);
    unblocker.stop();
    make();
    server.handler = (words) => {
      const text = words.join(" ").toLowerCase();
      if (text.startsWith("client list id")) return new Error("ERR syntax error");
      if (text === "client list") return "id=5 addr=10.0.0.1:4000 flags=b cmd=blpop \n";
      return text.startsWith("client unblock") ? 1 : undefined;
    };
    unblocker.recall(call(0));
    await until(() => told().length > 1);
  });

  it("keeps its connection for the next call, and closes it when the one that it serves is gone", async () => {
    unblocker.recall(call(0));
    await until(() => told().length === 1);
    queue.answered = 1;
    await until(() => unblockerIsIdle());
    unblocker.recall(call(1));
    await until(() => told().length === 2);
    expect(server.connectionCount).to.equal(1);
    unblocker.stop();
    await until(() => server.openConnections === 0);
    expect(unblocker.takes(call(2), UNBLOCKED), "what it told is over").to.equal(false);
  });

  for (const when of ["between two questions", "amid one"]) {
    it(`goes on with the calls of the next connection, the last one lost ${when}`, async () => {
      const { handler } = server;
      let isSilent = when === "amid one";
      server.handler = (words, ...rest) =>
        isSilent && words[1] === "list" ? NO_REPLY : handler(words, ...rest);
      flags = "N";
      unblocker.recall(call(0));
      await until(() => server.received.filter(([, word]) => word === "list").length > (isSilent ? 0 : 2));
      const before = current.connection as Record<string, unknown>;
      unblocker.stop();
      current.connection = { ...before, queue: { answered: 7 } };
      unblocker.recall(call(7));
      [flags, isSilent] = ["b", false];
      await until(() => told().length > 0);
    });
  }
});

describe("Unblocker over time", () => {
  type Modules = typeof import("../../../src/link/unblocker");
  /** Longer than the idle time after which the second connection is closed. */
  const LONG_MS = 11_000;
  let home: InVirtualTime<Modules>;
  let server: FakeServer;
  let isHeld: boolean;
  let unblocker: Unblocker;
  const queue = { answered: 0 };

  before(() => {
    home = inVirtualTime<Modules>(() => require("../../../src/link/unblocker"));
  });

  beforeEach(async () => {
    home.time.reset();
    [isHeld, queue.answered] = [true, 0];
    server = await FakeServer.start((words) => {
      const text = words.join(" ").toLowerCase();
      const flags = isHeld ? "b" : "N";
      if (text.startsWith("client list")) return `id=5 addr=10.0.0.1:4000 flags=${flags} cmd=blpop \n`;
      return text.startsWith("client unblock") ? 1 : undefined;
    });
    const { host: remoteAddress, port: remotePort } = server;
    const socket = { remoteAddress, remotePort, localAddress: "10.0.0.1", localPort: 4000 };
    const connection = { state: ConnectionState.Ready, clientId: 5, queue, socket };
    const current = { connection, resend: () => {} } as never;
    unblocker = new home.modules.Unblocker(current, {}, { credentials: () => ({}) });
  });

  afterEach(async () => {
    unblocker.stop();
    await server.stop();
  });

  const count = (word: string): number => server.received.filter((words) => words[1] === word).length;

  async function untilTold(times: number): Promise<void> {
    await until(
      () => count("unblock") >= times,
      () => home.pass(1),
    );
  }

  async function endCall(place: number): Promise<void> {
    const command = new Command(specOf("blpop"), ["k", "0"], false, new PromiseCompletion());
    command.ensureExtra().place = place;
    unblocker.recall(command);
    await untilTold(place + 1);
    expect(unblocker.takes(command, UNBLOCKED)).to.equal(true);
    queue.answered = place + 1;
    await command.promise;
  }

  it("closes its connection after a while without calls", async () => {
    await endCall(0);
    await home.pass(LONG_MS / 2);
    expect(server.openConnections).to.equal(1);
    await home.pass(LONG_MS);
    await until(() => server.openConnections === 0);
  });

  it("keeps its connection as long as a call is to be ended, however long ago the last one ended", async () => {
    await endCall(0);
    await home.pass(LONG_MS / 2);
    isHeld = false;
    const command = new Command(specOf("blpop"), ["k", "0"], false, new PromiseCompletion());
    command.ensureExtra().place = 1;
    unblocker.recall(command);
    const asked = count("list");
    await until(
      () => count("list") > asked,
      () => home.pass(1),
    );
    await home.pass(LONG_MS);
    isHeld = true;
    await untilTold(2);
    expect(server.connectionCount).to.equal(1);
    expect(await command.promise, "after its time").to.equal(null);
  });
});
