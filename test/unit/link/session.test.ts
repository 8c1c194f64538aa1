/** What a session follows besides databases: RESET, QUIT, refused members of a transaction, a MULTI without a reply. */

import { expect } from "chai";
import type { Command } from "../../../src/command/command";
import { WatchUser } from "../../../src/command/watch-user";
import { ReplyError, WatchLostError } from "../../../src/errors";
import { Session } from "../../../src/link/session";
import { MOST_NAMES } from "../../../src/util/bounds";
import { CommandsOfTest } from "../../support/ending";

describe("Session", () => {
  const made = new CommandsOfTest();
  let session: Session;

  beforeEach(() => {
    session = new Session(0, () => {});
  });
  afterEach(() => made.failAll());

  function note(name: string, ...args: string[]): Command {
    const command = made.make(name, ...args);
    session.note(command);
    return command;
  }

  it("begins anew with RESET: database 0, no guarded key, no transaction", () => {
    note("select", "3");
    note("watch", "k");
    note("multi");
    note("reset");
    expect([session.selected.db, session.isWatching, session.isInTransaction, session.isBound]).to.deep.equal(
      [0, false, false, false],
    );
  });

  it("stays on its connection while it guards keys, is in a transaction, or waits for its database", () => {
    expect(session.isBound).to.equal(false);
    note("watch", "k");
    expect(session.isBound, "WATCH").to.equal(true);
    note("unwatch");
    expect(session.isBound).to.equal(false);
    note("multi");
    expect(session.isBound, "MULTI").to.equal(true);
    note("select", "3");
    note("exec").fulfil(["OK"], { protocol: 2, replyMapping: "legacy" });
    expect([session.isBound, session.selected.db]).to.deep.equal([false, 3]);
    note("multi");
    note("select", "4");
    const exec = note("exec");
    note("get", "k");
    expect([session.isBound, session.isInTransaction], "EXEC").to.deep.equal([true, false]);
    exec.fulfil(null, { protocol: 2, replyMapping: "legacy" });
    expect([session.isBound, session.selected.db]).to.deep.equal([false, 3]);
  });

  it("counts how often guards of its connection have ended", () => {
    expect(session.endedGuards).to.equal(0);
    note("watch", "k");
    expect(session.endedGuards).to.equal(0);
    note("unwatch");
    note("multi");
    note("exec");
    expect(session.endedGuards).to.equal(2);
  });

  it("refuses the EXEC of a user whose guard another one has ended, until the user guards a key again", () => {
    const user = new WatchUser(null);
    const by = (name: string, ...args: string[]): Command => {
      const command = made.make(name, ...args);
      command.ensureExtra().watchUser = user;
      return command;
    };
    session.note(by("watch", "k"));
    note("unwatch");
    expect(session.takeRefusal(by("exec"))).to.be.instanceOf(WatchLostError);
    session.note(by("watch", "k"));
    expect(session.takeRefusal(by("exec"))).to.equal(null);
  });

  it("counts the guards of a user, and each end of them once", () => {
    const user = new WatchUser(null);
    const watch = made.make("watch", "k");
    watch.ensureExtra().watchUser = user;
    session.note(watch);
    session.note(watch);
    expect(user.guards).to.equal(1);
    for (const name of ["unwatch", "unwatch"]) note(name);
    expect(user.guards).to.equal(0);
    session.note(watch);
    session.clear();
    session.clear();
    expect(user.guards).to.equal(0);
  });

  it("forgets all users whose guards others have ended, once they are too many", () => {
    const watch = (user: WatchUser): void => {
      const command = made.make("watch", "k");
      command.ensureExtra().watchUser = user;
      session.note(command);
    };
    const first = new WatchUser(null);
    watch(first);
    note("unwatch");
    const exec = made.make("exec");
    exec.ensureExtra().watchUser = first;
    expect(session.takeRefusal(exec), "another user has ended its guard").to.be.instanceOf(WatchLostError);
    for (let i = 0; i < MOST_NAMES; i++) watch(new WatchUser(null));
    expect(session.takeRefusal(exec)).to.be.instanceOf(WatchLostError);
    note("unwatch");
    expect(session.takeRefusal(exec)).to.equal(null);
  });

  describe("when a command of a transaction opened by hand is refused before it is sent", () => {
    it("refuses nothing outside a transaction", () => {
      expect(() => session.loseMember(made.make("exec"))).to.not.throw();
      expect(session.isInTransaction).to.equal(false);
    });

    for (const [name, isOpen] of [
      ["get", true],
      ["exec", false],
      ["discard", false],
    ] as const) {
      it(`does not run the others, and the transaction ${isOpen ? "goes on after" : "ends with"} ${name.toUpperCase()}`, () => {
        const multi = note("multi");
        expect(multi.group?.isRefused).to.equal(false);
        session.loseMember(made.make(name));
        expect([multi.group?.isRefused, session.isInTransaction]).to.deep.equal([true, isOpen]);
      });
    }

    it("does not run the others either if the command is not known", () => {
      const multi = note("multi");
      session.loseMember();
      expect([multi.group?.isRefused, session.isInTransaction]).to.deep.equal([true, true]);
    });
  });

  describe("after a QUIT", () => {
    const endings: readonly (readonly [string, boolean, Error, boolean])[] = [
      ["takes commands again if it was given up before it was written", false, new Error("timed out"), false],
      ["takes none if it got no reply: the server may have closed", true, new Error("timed out"), true],
      ["takes commands again if the server has refused it", true, new ReplyError("NOPERM"), false],
    ];
    for (const [what, isWritten, error, isQuitting] of endings) {
      it(what, () => {
        const quit = note("quit");
        expect(session.isQuitting).to.equal(true);
        if (isWritten) quit.ensureExtra().sentAtMs = 1;
        quit.fail(error);
        expect(session.isQuitting).to.equal(isQuitting);
      });
    }

    it("takes none once it is answered", () => {
      note("quit").fulfil("OK", { protocol: 2, replyMapping: "legacy" });
      expect(session.isQuitting).to.equal(true);
    });
  });

  describe("when MULTI fails", () => {
    const endings: readonly (readonly [string, boolean, Error, boolean])[] = [
      ["before it was written, no transaction is open", false, new Error("timed out"), false],
      ["with a reply, no transaction is open", true, new ReplyError("ERR no"), false],
      ["without a reply, the server may have opened one", true, new Error("timed out"), true],
    ];
    for (const [what, isWritten, error, isOpen] of endings) {
      it(what, () => {
        const multi = note("multi");
        if (isWritten && multi.group !== null) multi.group.isStarted = true;
        multi.fail(error);
        expect(session.isInTransaction).to.equal(isOpen);
        session.onLoss(() => false);
        expect(session.isInTransaction).to.equal(false);
        expect(session.takeRefusal(made.make("get", "k")), "its caller knows of the failure").to.equal(null);
      });
    }

    it("only a loss without a failure refuses what follows", () => {
      note("multi");
      session.onLoss(() => false);
      expect(session.takeRefusal(made.make("get", "k"))).to.be.instanceOf(Error);
    });
  });

  it("forgets an open transaction when it is cleared, also the database that this one selects", () => {
    note("multi");
    note("select", "3");
    session.clear();
    note("get", "k");
    note("exec");
    expect([session.isBound, session.selected.db, session.isInTransaction]).to.deep.equal([false, 0, false]);
  });
});
