/** An extra connection over a scripted server: what goes over it, what its client hears of it, and how it ends. */

import { expect } from "chai";
import type { PooledConnection } from "../../../../src/client/leases/pooled-connection";
import { Command } from "../../../../src/command/command";
import { specOf } from "../../../../src/command/command-table";
import { PromiseCompletion } from "../../../../src/command/promise-completion";
import type { LinkDeps, LinkOptions, Takeover } from "../../../../src/link/link-options";
import { FakeServer, NO_REPLY, RawReply } from "../../../support/fake-server";
import { codeOf, failureOf } from "../../../support/outcome";
import { openPooled } from "../../../support/pooled-connection";

describe("PooledConnection", () => {
  let server: FakeServer;
  let told: unknown[][];
  let connection: PooledConnection;

  beforeEach(async () => {
    told = [];
    server = await FakeServer.start(([word]) => (word === "blpop" ? NO_REPLY : undefined));
  });
  afterEach(async () => {
    connection.close();
    await server.stop();
  });

  const tell =
    (...words: unknown[]) =>
    (...more: unknown[]): void =>
      void told.push([...words, ...more]);

  function open(options: LinkOptions = {}, deps: Partial<LinkDeps> = {}): void {
    connection = openPooled(server, options, {
      listener: {
        onStatus: tell("status"),
        onNamedError: (type, { message }) => tell("named", type)(message),
        onSelect: tell("select"),
        onGap: tell("gap"),
        onNameRefused: tell("refused"),
      },
      messages: { onMessage: tell("message"), onOtherPush: tell("push") } as never,
      ...deps,
    });
    connection.borrower = { isBound: false, onTaken: tell("taken"), onRefused: tell("refused") };
  }

  function block(key: string): Command {
    const command = new Command(specOf("blpop"), [key, "0"], false, new PromiseCompletion());
    // It may fail before the test looks at it.
    command.promise.catch(() => {});
    connection.dispatch(command);
    return command;
  }

  const received = (): string[] =>
    server.received.map((words) => words.join(" ")).filter((words) => !/^(?:hello|info|client)/i.test(words));

  async function until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  it("takes its command while it still connects, whatever its client does with others", async () => {
    server.handler = ([word]) => (word === "blpop" ? ["k", "v"] : undefined);
    const options: LinkOptions = { enableOfflineQueue: false };
    open(options);
    expect(await block("k").promise).to.deep.equal(["k", "v"]);
    expect(options).to.deep.equal({ enableOfflineQueue: false });
  });

  it("follows the options of its client from then on", async () => {
    let strategy = 0;
    open({
      retryStrategy: () => {
        strategy++;
        return null;
      },
    });
    await until(() => server.openConnections === 1);
    const command = block("k");
    await until(() => received().length === 1);
    server.dropConnections();
    expect(await codeOf(command.promise)).to.not.equal("fulfilled");
    await until(() => !connection.isUsable);
    expect(strategy).to.equal(1);
  });

  it("says nothing of its status, its databases and its messages to its client", async () => {
    server.handler = ([word]) => (word === "blpop" ? ["k", "v"] : undefined);
    open();
    connection.useDb(2);
    await block("k").promise;
    connection.close();
    await until(() => !connection.isUsable);
    expect(told).to.deep.equal([]);
  });

  it("changes the database where that is another one, in front of its command", async () => {
    server.handler = ([word]) => (word === "blpop" ? ["k", "v"] : undefined);
    open({ db: 1 });
    connection.useDb(1);
    await block("a").promise;
    connection.useDb(3);
    await block("b").promise;
    connection.useDb(3);
    await block("c").promise;
    connection.useDb(0);
    await block("d").promise;
    expect(received()).to.deep.equal([
      "select 1",
      "blpop a 0",
      ...["select 3", "blpop b 0"],
      "blpop c 0",
      ...["select 0", "blpop d 0"],
    ]);
  });

  it("hands batches on as they are", async () => {
    server.handler = ([word]) => (word === "blpop" ? ["k", "v"] : undefined);
    open();
    const commands = ["a", "b"].map(
      (key) => new Command(specOf("blpop"), [key, "0"], false, new PromiseCompletion()),
    );
    connection.dispatchBatch(commands);
    await Promise.all(commands.map(({ promise }) => promise));
    expect(received()).to.deep.equal(["blpop a 0", "blpop b 0"]);
  });

  it("is usable until it has ended, and closes at once although its command blocks", async () => {
    // The server does not even see that the socket is closed.
    server.handler = ([word], { socket }) => {
      if (word !== "blpop") return undefined;
      socket.pause();
      return NO_REPLY;
    };
    open({ disconnectTimeout: 60_000 });
    const command = block("k");
    await until(() => received().length === 1);
    expect(connection.isUsable).to.equal(true);
    connection.close();
    expect((await failureOf(command.promise)).message).to.equal("Connection is closed.");
    expect(connection.isUsable).to.equal(false);
  });

  it("is closed before it has connected", async () => {
    open();
    const command = block("k");
    connection.close();
    expect((await failureOf(command.promise)).message).to.equal("Connection is closed.");
    expect(connection.isUsable).to.equal(false);
  });

  it("tells its client of errors", async () => {
    const { port } = server;
    await server.stop();
    open();
    await until(() => told.length > 0);
    expect(told[0]?.slice(0, 2)).to.deep.equal(["named", "error"]);
    expect(told[0]?.[2]).to.contain(`ECONNREFUSED 127.0.0.1:${port}`);
  });

  it("is free again when its command went to another node", async () => {
    for (const isTaken of [true, false]) {
      told = [];
      server.handler = ([word]) => (word === "blpop" ? new Error("MOVED 1 a:1") : undefined);
      const taken: Command[] = [];
      open(
        {},
        {
          redirects: (command, error) => {
            tell("redirects", error.message)();
            taken.push(command);
            return isTaken;
          },
        },
      );
      const command = block("k");
      await until(() => taken.length === 1);
      expect(told.map(([word]) => word)).to.deep.equal(isTaken ? ["redirects", "taken"] : ["redirects"]);
      if (isTaken) command.fail(new Error("the test is over"));
      await failureOf(command.promise);
      connection.close();
    }
  });

  it("is free again when its cluster has taken its commands over, and not before", async () => {
    const takeover: Takeover = {
      takesOver: () => true,
      takeOver: (commands) => {
        tell("taken over", commands.length)();
        for (const one of commands) one.fulfil("elsewhere", { protocol: 2, replyMapping: "legacy" });
      },
      madeWhole: (commands) => commands,
    };
    open({}, { takeover });
    const command = block("k");
    await until(() => received().length === 1);
    server.dropConnections();
    expect(await command.promise).to.equal("elsewhere");
    await until(() => !connection.isUsable);
    expect(told).to.deep.equal([["taken over", 1], ["taken"]]);
  });

  it("makes its transactions whole as the cluster says", async () => {
    const whole: number[] = [];
    const takeover: Takeover = {
      takesOver: () => false,
      takeOver: () => {},
      madeWhole: (commands) => {
        whole.push(commands.length);
        return commands;
      },
    };
    open({ retryStrategy: () => 1 }, { takeover });
    const command = block("k");
    await until(() => received().length === 1);
    server.handler = ([word]) => (word === "blpop" ? new RawReply("*-1\r\n") : undefined);
    server.dropConnections();
    expect(await command.promise).to.equal(null);
    expect(whole).to.deep.equal([1]);
  });
});
