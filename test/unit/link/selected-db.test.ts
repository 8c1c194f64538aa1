/** Databases over a sequence of commands: those that the next connection selects, and what EXEC has selected. */

import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { DB_WHEN_SENT, databasesFor, followDb, SelectedDb, selectedBy } from "../../../src/link/selected-db";
import { CommandsOfTest } from "../../support/ending";

describe("the selected database", () => {
  const made = new CommandsOfTest();
  afterEach(() => made.failAll());

  function issuedIn(db: number, name: string, ...args: string[]): Command {
    const command = made.make(name, ...args);
    command.db = db;
    return command;
  }

  it("of the next connection is the confirmed one, behind those of waiting commands", () => {
    expect(databasesFor([], 1)).to.deep.equal([1]);
    const waiting = [
      issuedIn(1, "get", "a"),
      issuedIn(2, "get", "a"),
      issuedIn(2, "get", "b"),
      issuedIn(DB_WHEN_SENT, "get", "c"),
      issuedIn(2, "select", "3"),
      issuedIn(3, "get", "a"),
      issuedIn(4, "get", "a"),
    ];
    expect(databasesFor(waiting, 1)).to.deep.equal([2, 4, 1]);
  });

  it("after EXEC is that of the last SELECT which has run", () => {
    const selects = [
      [0, 5],
      [2, 6],
    ] as const;
    expect(selectedBy(selects, ["OK", "v", "OK"])).to.equal(6);
    expect(selectedBy(selects, ["OK", "v", new Error("no")])).to.equal(5);
    expect(selectedBy(selects, [new Error("no"), "v", new Error("no")])).to.equal(null);
    expect(selectedBy(selects, null), "it has not run").to.equal(null);
  });

  it("is 0 after RESET", () => {
    const selected = new SelectedDb(4);
    expect([selected.note(made.make("reset")), selected.db]).to.deep.equal([null, 0]);
  });

  it("of another link follows with a SELECT if it differs", () => {
    const sent: string[] = [];
    const link = {
      session: { selected: new SelectedDb(2) },
      dispatch: ({ name, args }: Command) => void sent.push(`${name} ${args}`),
      dispatchBatch() {},
    };
    followDb(link, 2);
    expect(sent).to.deep.equal([]);
    followDb(link, 3);
    expect(sent).to.deep.equal(["select 3"]);
  });
});
