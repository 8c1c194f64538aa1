/** Leaving within a time limit: the report, and that the client is closed whatever has happened. */

import { expect } from "chai";
import type { QuittingClient } from "../../../src/client/graceful-quit";
import { Command, CommandState, IGNORED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type QuitModules = typeof import("../../../src/client/graceful-quit") &
  Pick<typeof import("../../../src/client/chain"), "PARTS"> &
  Pick<typeof import("../../../src/command/commander"), "EXECUTE">;

describe("quitWithin", () => {
  let home: InVirtualTime<QuitModules>;
  let done: string[];
  let answer: () => void;
  let refuse: (error: Error) => void;
  let left: Command[];

  before(() => {
    home = inVirtualTime(
      () =>
        Object.assign(
          {},
          require("../../../src/client/graceful-quit"),
          require("../../../src/client/chain"),
          require("../../../src/command/commander"),
        ) as QuitModules,
    );
  });

  beforeEach(() => {
    done = [];
    left = [];
  });

  afterEach(() => {
    for (const one of left) one.fail(new Error("the test is over"));
  });

  function command(state: CommandState): Command {
    const one = new Command(specOf("get"), ["k"], false, IGNORED);
    one.state = state;
    left.push(one);
    return one;
  }

  /** A client with a written command, one that waits for a connection, and one that is gathered. */
  function client(isConnected = true): QuittingClient {
    const [sent, waiting, gathered] = [
      command(CommandState.Sent),
      command(CommandState.Queued),
      command(CommandState.Queued),
    ];
    const connection = { queue: { pending: () => [sent] }, destroy: () => done.push("destroy") };
    const link = {
      isWritable: true,
      connection: isConnected ? connection : null,
      offline: { length: 1, pending: () => [waiting] },
    };
    return {
      [home.modules.PARTS]: {
        link,
        leases: null,
        replicas: null,
        gatheredCommands: [gathered],
        leasedLinks: [],
        letGo() {},
      },
      [home.modules.EXECUTE]: () =>
        new Promise<void>((resolve, reject) => {
          answer = resolve;
          refuse = reject;
        }),
      disconnect: () => {
        done.push("disconnect");
        link.connection = null;
      },
    } as unknown as QuittingClient;
  }

  it("says that all was answered, and lets the server close the connection", () =>
    home.live(async () => {
      const report = home.modules.quitWithin(client(), { timeout: 100 });
      answer();
      expect(await report).to.deep.equal({ isDrained: true, unanswered: 0, unsent: 0 });
      expect([done, home.time.pending], "nothing is left to end, and no timer").to.deep.equal([[], 0]);
    }));

  it("closes when the time is up, and says what was left", () =>
    home.live(async () => {
      let report: unknown;
      void home.modules.quitWithin(client(), { timeout: 100 }).then((given) => {
        report = given;
      });
      await home.pass(99);
      expect([report, done]).to.deep.equal([undefined, []]);
      await home.pass(2);
      expect(report).to.deep.equal({ isDrained: false, unanswered: 1, unsent: 2 });
      expect(done, "also what disconnect() has taken from the link").to.deep.equal(["disconnect", "destroy"]);
      answer();
    }));

  it("closes when QUIT is refused; drained is a client without a connection", () =>
    home.live(async () => {
      for (const isConnected of [true, false]) {
        done = [];
        const report = home.modules.quitWithin(client(isConnected), { timeout: 100 });
        refuse(new Error("NOPERM"));
        expect((await report).isDrained).to.equal(!isConnected);
        expect(done).to.deep.equal(isConnected ? ["disconnect", "destroy"] : ["disconnect"]);
      }
    }));

  it("takes a time that has passed for none", () =>
    home.live(async () => {
      const limit = new home.modules.TimeLimit(-5);
      expect(limit.isOver).to.equal(false);
      await home.pass(1);
      expect(limit.isOver).to.equal(true);
      await limit.over;
    }));
});
