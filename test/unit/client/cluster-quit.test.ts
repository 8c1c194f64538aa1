/** Leaving a cluster within a time limit: what is waited for, what is counted, and that all is closed. In virtual time. */

import { expect } from "chai";
import type { ClusterWiring } from "../../../src/client/cluster/cluster-wiring";
import { Command, CommandState, IGNORED } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type ChainModule = Pick<typeof import("../../../src/client/chain"), "PARTS">;
type QuitModule = typeof import("../../../src/client/cluster/cluster-quit");

describe("quitClusterWithin", () => {
  let home: InVirtualTime<QuitModule & ChainModule>;
  let made: Command[];
  let done: string[];
  let status: string;
  /** Where commands are: between the nodes, before all of them, and at a node: gathered, waiting, written. */
  let places: Record<"given back" | "before all" | "gathered" | "waiting" | "written", Command[]>;
  let answerQuit: () => void;
  let refuseQuit: (error: Error) => void;

  before(() => {
    home = inVirtualTime(() => ({
      ...(require("../../../src/client/cluster/cluster-quit") as QuitModule),
      ...(require("../../../src/client/chain") as ChainModule),
    }));
  });

  beforeEach(() => {
    [made, done, status] = [[], [], "ready"];
    places = { "given back": [], "before all": [], gathered: [], waiting: [], written: [] };
  });

  afterEach(() => {
    for (const one of made) one.fail(new Error("the test is over"));
  });

  function put(place: keyof typeof places): Command {
    const one = new Command(specOf("get"), ["k"], false, IGNORED);
    one.state = place === "written" ? CommandState.Sent : CommandState.Queued;
    made.push(one);
    places[place].push(one);
    return one;
  }

  function wiring(): ClusterWiring {
    const link = {
      offline: { pending: () => places.waiting },
      connection: {
        queue: { pending: () => places.written },
        destroy: () => void done.push("destroyed"),
      },
    };
    let clients = [
      {
        link,
        redis: {
          [home.modules.PARTS]: {
            leasedLinks: [],
            get gatheredCommands() {
              return places.gathered;
            },
          },
        },
      },
    ];
    return {
      lifecycle: {
        get status() {
          return status;
        },
        get waiting() {
          return places["before all"];
        },
        drain: () => {
          if (status === "ready") status = "disconnecting";
        },
        disconnect: () => {
          done.push("disconnect");
          clients = [];
        },
        quit: () => {
          done.push("quit");
          return new Promise<void>((resolve, reject) => {
            answerQuit = resolve;
            refuseQuit = reject;
          });
        },
      },
      pool: { allClients: () => clients },
      retries: { pending: () => places["given back"] },
    } as unknown as ClusterWiring;
  }

  const ALL_CLOSED = ["disconnect", "destroyed"];
  const DRAINED = { isDrained: true, unanswered: 0, unsent: 0 };

  /** The shortest timer may run out, the limit is stopped. */
  async function nothingLeft(): Promise<void> {
    await home.pass(5);
    expect(home.time.pending, "timers").to.equal(0);
  }

  /** Begins to leave; the report once it is there. */
  function leave(timeout: number): () => unknown {
    let report: unknown;
    void home.modules.quitClusterWithin(wiring(), { timeout }).then((given) => {
      report = given;
    });
    return () => report;
  }

  for (const place of ["given back", "before all", "gathered", "waiting", "written"] as const) {
    it(`waits for a command that is ${place}, and then says goodbye`, () =>
      home.live(async () => {
        const command = put(place);
        const report = leave(1000);
        await home.pass(500);
        expect([report(), done, status]).to.deep.equal([undefined, [], "disconnecting"]);
        command.fulfil("v", { protocol: 2, replyMapping: "legacy" });
        await home.pass(5);
        expect([report(), done]).to.deep.equal([undefined, ["quit"]]);
        answerQuit();
        await home.pass(0);
        expect([report(), done]).to.deep.equal([DRAINED, ["quit", ...ALL_CLOSED]]);
        await nothingLeft();
      }));

    it(`counts a command that is ${place} when the time is up`, () =>
      home.live(async () => {
        put(place);
        const report = leave(100);
        await home.pass(99);
        expect(report()).to.equal(undefined);
        await home.pass(6);
        const isWritten = place === "written";
        expect(report()).to.deep.equal({
          isDrained: false,
          unanswered: isWritten ? 1 : 0,
          unsent: isWritten ? 0 : 1,
        });
        expect(done).to.deep.equal(ALL_CLOSED);
        await nothingLeft();
      }));
  }

  it("waits until it is ready, however little there is to do, and drains then", () =>
    home.live(async () => {
      status = "connecting";
      const report = leave(1000);
      await home.pass(50);
      expect([report(), done]).to.deep.equal([undefined, []]);
      status = "ready";
      await home.pass(5);
      expect([status, done]).to.deep.equal(["disconnecting", ["quit"]]);
      answerQuit();
      await home.pass(0);
      expect(report()).to.deep.equal(DRAINED);
    }));

  for (const over of ["wait", "end"]) {
    it(`waits for nothing when the status is "${over}"`, () =>
      home.live(async () => {
        status = over;
        put("given back");
        const report = leave(1000);
        await home.pass(0);
        expect(report()).to.deep.equal({ isDrained: false, unanswered: 0, unsent: 1 });
        expect(done).to.deep.equal(ALL_CLOSED);
        await nothingLeft();
      }));
  }

  it("closes when the goodbye is refused, or not answered in the time", () =>
    home.live(async () => {
      const refused = leave(100);
      await home.pass(0);
      refuseQuit(new Error("NOPERM"));
      await home.pass(0);
      expect([refused(), done]).to.deep.equal([DRAINED, ["quit", ...ALL_CLOSED]]);
      [done, status] = [[], "ready"];
      const silent = leave(100);
      await home.pass(99);
      expect(done).to.deep.equal(["quit"]);
      await home.pass(1);
      expect([silent(), done]).to.deep.equal([DRAINED, ["quit", ...ALL_CLOSED]]);
      await nothingLeft();
    }));

  it("says goodbye also where the time was up at once, for a moment", () =>
    home.live(async () => {
      const report = leave(0);
      await home.pass(4);
      expect([report(), done]).to.deep.equal([undefined, ["quit"]]);
      await home.pass(1);
      expect([report(), done]).to.deep.equal([DRAINED, ["quit", ...ALL_CLOSED]]);
    }));
});
