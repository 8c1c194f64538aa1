/** Commands that a link inspects: which are refused, which wait, and which are sent now. */

import { expect } from "chai";
import { Batch, BatchKind } from "../../../src/command/batch";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import {
  MonitorModeError,
  OfflineQueueDisabledError,
  SelectOnClusterError,
  WatchLostError,
} from "../../../src/errors";
import { Intake, type IntakeOwner } from "../../../src/link/intake";
import { LeftoverCommands } from "../../../src/link/leftovers";
import type { Takeover } from "../../../src/link/link-options";
import type { LinkMode, LinkStatus } from "../../../src/link/link-state";
import { OfflineQueue } from "../../../src/link/offline-queue";
import { Session } from "../../../src/link/session";
import { CommandsOfTest, Ending } from "../../support/ending";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;

describe("Intake", () => {
  const commands = new CommandsOfTest();
  let sent: string[];
  let connects: number;
  let updates: number;
  let owner: { -readonly [Name in keyof IntakeOwner]: IntakeOwner[Name] };
  let intake: Intake;

  beforeEach(() => make());
  afterEach(() => commands.failAll());

  function make(takeover: Takeover | null = null, db = 0): void {
    [sent, connects, updates] = [[], 0, 0];
    const offline = new OfflineQueue();
    const session = new Session(db, () => {});
    const current = {
      send: ({ name, db: used }: Command) => void sent.push(`${name} ${used}`),
      select: (used: number) => void sent.push(`(select ${used})`),
      mayBypass: ({ name }: Command) => name === "auth",
      discardInsteadOf: () => void sent.push("(discard)"),
    };
    owner = {
      options: { db },
      status: "ready" as LinkStatus,
      mode: "normal" as LinkMode,
      session,
      current: current as never,
      offline,
      isWritable: true,
      isLeaving: false,
      holdsCommands: false,
      connect: async () => void connects++,
      updateDirect: () => void updates++,
    };
    const deps = { takeover, counts: new ConnectionCounts() };
    intake = new Intake(owner, new LeftoverCommands(owner.options, offline, deps), deps);
  }

  function newCommand(name: string, ...args: string[]): Command {
    const command = new Command(specOf(name), args, false, new Ending());
    commands.add(command);
    return command;
  }

  function take(name: string, ...args: string[]): Ending {
    const command = newCommand(name, ...args);
    intake.take(command);
    return command.completion as Ending;
  }

  const waiting = (): string[] => owner.offline.pending().map(({ name }) => name);

  it("sends commands in the database that was selected before them", () => {
    take("get", "a");
    take("select", "3");
    take("get", "a");
    expect(sent).to.deep.equal(["get 0", "select 0", "get 3"]);
    expect(updates).to.equal(3);
  });

  it("connects with the first command, which waits", () => {
    Object.assign(owner, { status: "wait", isWritable: false });
    take("get", "a");
    expect([connects, sent, waiting()]).to.deep.equal([1, [], ["get"]]);
    owner.status = "connecting";
    take("get", "b");
    expect([connects, waiting()]).to.deep.equal([1, ["get", "get"]]);
  });

  it("keeps commands until it may write, except for a login beside the handshake", () => {
    owner.isWritable = false;
    for (const status of ["connecting", "connect"] as const) {
      owner.status = status;
      take("get", "a");
      take("auth", "pw");
    }
    expect([sent, waiting()]).to.deep.equal([["auth 0"], ["get", "auth", "get"]]);
    expect(connects).to.equal(0);
  });

  it("keeps commands that wait for the reply of an EXEC, although it may write", () => {
    owner.holdsCommands = true;
    take("get", "a");
    expect([sent, waiting()]).to.deep.equal([[], ["get"]]);
  });

  it("refuses commands that would have to wait if the option says so, and ends their transaction", () => {
    Object.assign(owner, { options: { enableOfflineQueue: false }, holdsCommands: true });
    const multi = newCommand("multi");
    intake.take(multi);
    expect([waiting(), multi.isSettled], "they wait for an EXEC only").to.deep.equal([["multi"], false]);
    Object.assign(owner, { isWritable: false, holdsCommands: false });
    updates = 0;
    expect(take("get", "a").error).to.be.instanceOf(OfflineQueueDisabledError);
    expect([multi.group?.isRefused, updates, waiting()]).to.deep.equal([true, 1, ["multi"]]);
  });

  it("fails commands once it is leaving", () => {
    owner.isLeaving = true;
    expect(take("get", "a").error?.message).to.contain("closed");
    expect([sent, waiting()]).to.deep.equal([[], []]);
  });

  it("fails commands that its mode does not allow", () => {
    owner.mode = "monitor";
    expect(take("get", "a").error).to.be.instanceOf(MonitorModeError);
    expect(take("monitor").error).to.equal(null);
    owner.mode = "subscriber";
    expect(take("get", "a").error?.message).to.contain("subscriber");
    expect(take("ping").error).to.equal(null);
    expect(sent).to.deep.equal(["monitor 0", "ping 0"]);
  });

  it("refuses another database on a node of a cluster, also for the transaction around it", () => {
    make({ takesOver: () => false, takeOver() {}, madeWhole: (all) => all }, 2);
    expect(take("select", "2").error).to.equal(null);
    const multi = newCommand("multi");
    intake.take(multi);
    expect(take("select", "0").error).to.be.instanceOf(SelectOnClusterError);
    expect(multi.group?.isRefused).to.equal(true);
    make();
    expect(take("select", "5").error, "of a single server").to.equal(null);
  });

  it("refuses an EXEC whose WATCH is lost, and closes the transaction at the server", () => {
    take("watch", "k");
    owner.session.onLoss(() => false);
    for (const [name, ...args] of [["multi"], ["set", "a", "1"]] as const)
      expect(take(name, ...args).error).to.equal(null);
    sent = [];
    expect(take("exec").error).to.be.instanceOf(WatchLostError);
    expect(sent).to.deep.equal(["(discard)"]);
    expect(take("multi").error).to.equal(null);
    expect(take("exec").error, "the next one").to.equal(null);
  });

  it("refuses the commands of a transaction whose MULTI is lost, and sends nothing in their place", () => {
    const multi = newCommand("multi");
    intake.take(multi);
    multi.fulfil("OK", TEXT);
    owner.session.onLoss(() => false);
    sent = [];
    expect(take("set", "a", "1").error).to.be.instanceOf(Error);
    expect(take("exec").error).to.be.instanceOf(Error);
    expect(sent).to.deep.equal([]);
    expect(take("get", "a").error, "behind it").to.equal(null);
  });

  it("takes a batch one by one, between which nothing else begins, also if a caller issues another one", () => {
    const batch = new Batch(BatchKind.Pipeline, 0, null);
    const members = ["get", "set"].map((name) => newCommand(name, "a", "1"));
    for (const one of members) batch.add(one);
    const states: boolean[] = [];
    const { send } = owner.current;
    owner.current.send = (command) => {
      states.push(intake.isInBatch);
      send.call(owner.current, command);
      if (command === members[0]) intake.takeBatch([newCommand("time")]);
    };
    intake.takeBatch(members);
    expect(sent).to.deep.equal(["get 0", "time 0", "set 0"]);
    expect([states, intake.isInBatch]).to.deep.equal([[true, true, true], false]);
  });

  it("ends a late batch behind the commands that still wait, and at once otherwise", () => {
    const waits = newCommand("get", "a");
    owner.offline.push(waits);
    Object.assign(owner, { isLeaving: true, status: "end" });
    const late = [newCommand("get", "b"), newCommand("get", "c")];
    intake.takeBatch(late);
    expect([late.map(({ isSettled }) => isSettled), waiting()]).to.deep.equal([
      [false, false],
      ["get", "get", "get"],
    ]);
    const others = [newCommand("get", "d")];
    owner.status = "ready";
    intake.takeBatch(others);
    expect(others[0]?.isSettled, "it has not ended").to.equal(true);
    owner.status = "end";
    for (const one of owner.offline.takeAll()) one.fail(new Error("ended"));
    const last = [newCommand("get", "e")];
    intake.takeBatch(last);
    expect([last[0]?.isSettled, waiting()]).to.deep.equal([true, []]);
  });

  it("sends what waits, then selects the database of the session, unless an EXEC decides about it", () => {
    owner.isWritable = false;
    for (const [name, ...args] of [
      ["get", "a"],
      ["select", "3"],
      ["get", "a"],
    ] as const)
      take(name, ...args);
    intake.sendWaiting();
    expect(sent).to.deep.equal(["get 0", "select 0", "get 3", "(select 3)"]);
    sent = [];
    take("get", "b");
    owner.holdsCommands = true;
    intake.sendWaiting();
    expect([sent, waiting()]).to.deep.equal([[], ["get"]]);
    Object.assign(owner, { holdsCommands: false, isWritable: true });
    for (const [name, ...args] of [["multi"], ["select", "4"], ["exec"]] as const) take(name, ...args);
    sent = [];
    intake.sendWaiting();
    expect(sent, "an EXEC decides").to.deep.equal(["get 3"]);
  });
});
