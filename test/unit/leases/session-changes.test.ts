/** What the commands of a lease change on their connection, and what undoes it. */

import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { ConnectionClosedError, ReplyError } from "../../../src/errors";
import { SessionChanges } from "../../../src/leases/session-changes";
import { CommandsOfTest } from "../../support/ending";

describe("SessionChanges", () => {
  const commands = new CommandsOfTest();
  let changes: SessionChanges;

  beforeEach(() => {
    changes = new SessionChanges();
  });
  afterEach(() => commands.failAll());

  /** Issues commands, each written as one text; returns the last one. */
  function issue(...texts: string[]): Command {
    const issued = texts.map((text) => {
      const [name = "", ...args] = text.split(" ");
      const command = commands.make(name, ...args);
      changes.note(command);
      return command;
    });
    return issued.at(-1) as Command;
  }

  const CASES: readonly (readonly [issued: string, undone: string])[] = [
    ["get k", ""],
    ["select 3", ""],
    ["watch k", "unwatch"],
    ["watch k, unwatch", ""],
    ["watch k, multi, set k 1, exec", ""],
    ["watch k, multi, discard", ""],
    ["watch k, exec", "unwatch"],
    ["watch k, discard", "unwatch"],
    ["watch k, multi, exec, watch k", "unwatch"],
    ["multi", "discard"],
    ["multi, get k", "discard"],
    ["watch k, multi", "discard"],
    ["subscribe a", "unsubscribe"],
    ["subscribe a, unsubscribe a", "unsubscribe"],
    ["psubscribe a*, ssubscribe b, subscribe c, psubscribe d*", "punsubscribe sunsubscribe unsubscribe"],
    ["subscribe a, watch k", "unsubscribe unwatch"],
    ["subscribe a, watch k, multi", "discard unsubscribe"],
  ];
  for (const [issued, undone] of CASES) {
    it(`after ${issued}: ${undone || "nothing"}`, () => {
      issue(...issued.split(", "));
      expect([changes.undo().join(" "), changes.isLasting]).to.deep.equal([undone, false]);
    });
  }

  it("knows the commands that only a new connection undoes", () => {
    const isLasting = (text: string): boolean => {
      changes = new SessionChanges();
      issue(text);
      return changes.isLasting;
    };
    const lasting = ["client setname a", "CLIENT NO-EVICT on", "auth pw", "readonly", "reset", "monitor"];
    const harmless = ["client id", "CLIENT list", "client", "script load x", "config set a b"];
    expect(lasting.filter((text) => !isLasting(text))).to.deep.equal([]);
    // CLIENT without a subcommand is an error, and any unknown one may last.
    expect(harmless.filter(isLasting)).to.deep.equal(["client"]);
  });

  describe("when the server refuses", () => {
    const refuse = (command: Command, message = "NOPERM this user has no permissions"): void =>
      command.fail(new ReplyError(message));

    it("MULTI: its EXEC has kept the watch", () => {
      const multi = issue("watch k", "multi");
      refuse(multi);
      refuse(issue("exec"), "ERR EXEC without MULTI");
      expect(changes.isLasting).to.equal(true);
    });

    it("EXEC or DISCARD: the transaction is still open", () => {
      for (const end of ["exec", "discard"]) {
        changes = new SessionChanges();
        refuse(issue("multi", end));
        expect(changes.isLasting, end).to.equal(true);
      }
    });

    it("a command of the transaction: EXEC has ended it, and the watch", () => {
      const exec = issue("watch k", "multi", "exec");
      refuse(exec, "EXECABORT Transaction discarded because of previous errors.");
      expect([changes.undo(), changes.isLasting]).to.deep.equal([[], false]);
    });

    it("EXEC without MULTI: nothing has changed", () => {
      refuse(issue("watch k", "exec"), "ERR EXEC without MULTI");
      expect([changes.undo(), changes.isLasting]).to.deep.equal([["unwatch"], false]);
    });

    it("nothing, but the connection is lost: the next one has no changes", () => {
      issue("multi", "exec").fail(new ConnectionClosedError());
      expect(changes.isLasting).to.equal(false);
    });
  });
});
