/** The way to the present connection: the database that each command runs on, and which commands go past the rest. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command, Origin } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import type { Connection } from "../../../src/connection/connection";
import { ConnectionState } from "../../../src/connection/connection-state";
import type { AbstractConnector } from "../../../src/link/connector";
import { CurrentConnection } from "../../../src/link/current-connection";
import type { LinkListener } from "../../../src/link/link-options";
import { OfflineQueue } from "../../../src/link/offline-queue";
import { DB_WHEN_SENT } from "../../../src/link/selected-db";
import { Ending } from "../../support/ending";

describe("CurrentConnection", () => {
  const made: Command[] = [];
  let sent: string[];
  let commands: Command[];
  let selected: number[];
  let connection: {
    state: ConnectionState;
    isWritable: boolean;
    socket: null;
    dispatch(command: Command): void;
  };
  let current: CurrentConnection;
  let offline: OfflineQueue;

  beforeEach(() => {
    [sent, commands, selected] = [[], [], []];
    connection = {
      state: ConnectionState.Ready,
      isWritable: true,
      socket: null,
      dispatch: (command) => {
        commands.push(command);
        made.push(command);
        sent.push([command.spec.lowerName, ...command.args].join(" "));
      },
    };
    offline = new OfflineQueue();
    const owner = {
      options: {},
      connector: {} as AbstractConnector,
      offline,
      subscriptions: { isEmpty: true },
      hasFailedAttempt: false,
      hasBeenReady: true,
    };
    const listener = { onSelect: (db: number) => void selected.push(db) };
    current = new CurrentConnection(
      owner,
      { credentials: () => ({}), listener: listener as LinkListener, takeover: null },
      0,
    );
    current.connection = connection as unknown as Connection;
    current.open(0);
  });
  afterEach(() => {
    for (const one of made.splice(0)) one.fail(new Error("the test is over"));
  });

  function command(name: string, args: string[] = [], db = 0, kind?: BatchKind): Command {
    const one = new Command(specOf(name), args, false, new Ending());
    one.db = db;
    made.push(one);
    if (kind !== undefined) one.batch = new Batch(kind, 1, null);
    return one;
  }

  it("selects the database of a command before it, once for those that follow", () => {
    for (const [key, db] of [
      ["a", 0],
      ["b", 2],
      ["c", 2],
      ["d", 0],
    ] as const)
      current.send(command("get", [key], db));
    expect(sent).to.deep.equal(["get a", "select 2", "get b", "get c", "select 0", "get d"]);
    expect(selected).to.deep.equal([2, 0]);
    const select = commands[1];
    expect([select?.origin, select?.db]).to.deep.equal([Origin.Client, 0]);
  });

  it("follows what the commands of users select, and the database of a new connection", () => {
    current.send(command("select", ["3"], 0));
    current.send(command("get", ["a"], 3));
    expect(sent).to.deep.equal(["select 3", "get a"]);
    current.open(1);
    current.send(command("get", ["b"], 1));
    current.send(command("get", ["c"], 3));
    expect(sent.slice(2)).to.deep.equal(["get b", "select 3", "get c"]);
  });

  it("waits for EXEC to tell which database a transaction has selected, and selects that one itself", () => {
    for (const db of [null, 5]) {
      current.open(0);
      const exec = command("exec");
      for (const one of [command("multi"), command("select", ["5"]), command("get", ["a"]), exec])
        current.send(one);
      expect(current.isDeciding).to.equal(true);
      current.onDecided(command("exec"), 7);
      expect(current.isDeciding, "another one").to.equal(true);
      current.onDecided(exec, db);
      expect([current.isDeciding, sent.at(-1)]).to.deep.equal([false, `select ${db ?? 0}`]);
      current.send(command("get", ["a"], DB_WHEN_SENT));
      expect(commands.at(-1)?.db).to.equal(db ?? 0);
      expect(sent.slice(-2)).to.deep.equal([`select ${db ?? 0}`, "get a"]);
    }
    expect(selected).to.deep.equal([5]);
  });

  it("selects the database of a command that goes again while EXEC is awaited", () => {
    for (const one of [command("multi"), command("select", ["5"]), command("exec")]) current.send(one);
    current.resend(command("get", ["a"], 0));
    expect(sent.slice(-2)).to.deep.equal(["select 0", "get a"]);
  });

  it("waits for no EXEC without a SELECT, that was given up, or whose MULTI was refused", () => {
    for (const one of [command("multi"), command("get", ["a"]), command("exec")]) current.send(one);
    expect(current.isDeciding).to.equal(false);
    const given = command("exec");
    given.fail(new Error("given up"));
    for (const one of [command("multi"), command("select", ["5"]), given]) current.send(one);
    expect(current.isDeciding).to.equal(false);
    for (const one of [command("multi"), command("select", ["5"])]) current.send(one);
    current.abandonOpen();
    expect(sent.at(-1), "the SELECT has run").to.equal("select 0");
    current.send(command("exec"));
    expect(current.isDeciding).to.equal(false);
  });

  it("gives a command that blocks, and only that, a way to be recalled", () => {
    const [blocking, unlimited, plain] = [
      command("blpop", ["a", "0"]),
      command("blpop", ["b", "0"]),
      command("get", ["c"]),
    ];
    blocking.ensureExtra();
    plain.ensureExtra();
    for (const one of [blocking, unlimited, plain]) current.send(one);
    expect(current.unblocker, "made for the first that is recalled").to.equal(null);
    blocking.extra?.recall?.();
    expect(current.unblocker).to.not.equal(null);
    expect(blocking.isSettled, "nobody can be asked to end it").to.equal(true);
    expect(unlimited.extra).to.equal(null);
    expect(plain.extra?.recall ?? null).to.equal(null);
  });

  it("sends again while the connection is ready, and otherwise on the next one", () => {
    current.resend(command("get", ["a"]));
    connection.state = ConnectionState.Draining;
    current.resend(command("get", ["b"]));
    current.connection = null;
    current.resend(command("get", ["c"]));
    expect(current.isReady).to.equal(false);
    expect(sent).to.deep.equal(["get a"]);
    expect(offline.pending().map(({ args }) => args[0])).to.deep.equal(["b", "c"]);
  });

  it("lets commands of the handshake pass before ready, alone", () => {
    const [auth, member, get] = [
      command("auth", ["secret"]),
      command("auth", ["secret"], 0, BatchKind.Pipeline),
      command("get", ["a"]),
    ];
    const passing = (): boolean[] => [auth, member, get].map((one) => current.mayBypass(one));
    expect(passing()).to.deep.equal([false, false, false]);
    connection.state = ConnectionState.Handshaking;
    expect(passing()).to.deep.equal([true, false, false]);
    current.connection = null;
    expect(passing()).to.deep.equal([false, false, false]);
  });

  it("ends on the server a transaction that was opened by hand when its EXEC is refused", () => {
    current.send(command("multi"));
    current.send(command("select", ["7"]));
    current.discardInsteadOf(command("exec", [], 7));
    expect(sent).to.deep.equal(["multi", "select 7", "discard"]);
    // The member of an explicit batch was never sent, nor was its MULTI.
    current.discardInsteadOf(command("exec", [], 0, BatchKind.Transaction));
    connection.state = ConnectionState.Closed;
    current.discardInsteadOf(command("exec"));
    expect(sent).to.have.length(3);
    connection.state = ConnectionState.Ready;
    current.send(command("select", ["7"]));
    expect(selected, "the transaction is over").to.deep.equal([7]);
    sent.pop();
    current.discardInsteadOf(command("exec", [], 0, BatchKind.Automatic));
    expect(sent.at(-1)).to.equal("discard");
  });

  it("takes back the database that a transaction has selected, if there is one that will not run", () => {
    current.abandonOpen();
    expect(sent, "no transaction is open").to.deep.equal([]);
    for (const one of [command("multi"), command("get", ["k"])]) current.send(one);
    current.abandonOpen();
    expect(sent.splice(0), "it selects none").to.deep.equal(["multi", "get k"]);
    const [multi, select] = [command("multi"), command("select", ["3"])];
    for (const one of [multi, select]) current.send(one);
    connection.state = ConnectionState.Closed;
    current.abandonOpen();
    expect(sent, "its connection is lost").to.deep.equal(["multi", "select 3"]);
    connection.state = ConnectionState.Ready;
    for (const one of [command("multi"), command("select", ["3"])]) current.send(one);
    sent = [];
    current.abandonOpen();
    expect(sent).to.deep.equal(["select 0"]);
    current.abandonOpen();
    expect(sent, "once").to.deep.equal(["select 0"]);
  });
});
