/** The replies of the server about databases: what they correct, and the databases that the next connection selects. */

import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { DatabaseChanges, DB_WHEN_SENT, SelectedDb } from "../../../src/link/selected-db";
import { CommandsOfTest } from "../../support/ending";

describe("DatabaseChanges", () => {
  const made = new CommandsOfTest();
  let told: unknown[];
  let unanswered: Command[];
  let selected: SelectedDb;
  /** The database after EXEC, as the connection knows it. */
  let settledDb: number | null;
  let changes: DatabaseChanges;

  beforeEach(() => {
    told = [];
    unanswered = [];
    selected = new SelectedDb(0);
    settledDb = null;
    changes = new DatabaseChanges(
      {
        session: { selected, settleExec: (_exec, db) => void told.push(["session", db]) },
        current: {
          settle: () => settledDb,
          setDb: (db) => void told.push(["current", db]),
          abandonOpen: () => void told.push("abandoned"),
        },
        unanswered: () => unanswered,
        resume: () => void told.push("resumed"),
      },
      1,
    );
  });
  afterEach(() => made.failAll());

  function issuedIn(db: number, name: string, ...args: string[]): Command {
    const command = made.make(name, ...args);
    command.db = db;
    unanswered.push(command);
    return command;
  }

  it("lets the next connection select the databases of waiting commands, and then the current one", () => {
    expect(changes.toCome()).to.deep.equal({ db: 1, otherDbs: [] });
    issuedIn(1, "get", "a");
    issuedIn(2, "get", "a");
    issuedIn(2, "get", "b");
    issuedIn(DB_WHEN_SENT, "get", "c");
    issuedIn(2, "select", "3");
    issuedIn(3, "get", "a");
    issuedIn(4, "get", "a");
    expect(changes.toCome()).to.deep.equal({ db: 1, otherDbs: [2, 4] });
    changes.onSelected(5);
    expect(changes.toCome().db).to.equal(5);
  });

  it("returns to the database before a SELECT that the server refuses, unless another SELECT followed", () => {
    selected.db = 7;
    const refused = issuedIn(2, "select", "7");
    changes.onRefused(refused);
    expect([selected.db, told]).to.deep.equal([2, [["current", 2]]]);
    selected.db = 8;
    changes.onRefused(refused);
    expect([selected.db, told.length]).to.deep.equal([8, 1]);
  });

  it("forgets the transaction of a MULTI that the server refuses, except inside a transaction", () => {
    selected.note(made.make("multi"));
    changes.onMultiRefused(new Error("ERR MULTI calls can not be nested"));
    expect([selected.isOpen, told]).to.deep.equal([true, []]);
    changes.onMultiRefused(new Error("NOPERM"));
    expect([selected.isOpen, told]).to.deep.equal([false, ["abandoned"]]);
  });

  it("takes the database from the reply to EXEC; without a reply the former one stays", () => {
    const exec = made.make("exec");
    settledDb = 6;
    changes.onExecSettled(exec);
    expect([changes.agreed, told]).to.deep.equal([1, [["session", null], "resumed"]]);
    changes.onExecSettled(exec, ["OK"]);
    expect([changes.agreed, told.slice(2)]).to.deep.equal([6, [["session", 6], "resumed"]]);
    settledDb = null;
    changes.onExecSettled(exec, ["OK"]);
    expect([changes.agreed, told.slice(4)], "another EXEC decides").to.deep.equal([
      6,
      [["session", null], "resumed"],
    ]);
  });
});
