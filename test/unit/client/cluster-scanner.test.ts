/** SCAN over the masters of a cluster, over stand-ins of the nodes: one after the other, losses, successors. In virtual time. */

import { expect } from "chai";
import type { ClusterScanner } from "../../../src/client/whole-cluster/cluster-scanner";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";

type Page = readonly [cursor: string, ...elements: string[]] | Error;

const CLOSED = "Connection is closed.";
const PAUSE_MS = 200;

describe("ClusterScanner", () => {
  let home: InVirtualTime<typeof import("../../../src/client/whole-cluster/cluster-scanner")>;
  /** The masters that own slots, with the pages that each will give. */
  let masters: Map<string, Page[]>;
  /** The questions: node, command, arguments. */
  let asked: string[];
  let refreshes: (() => void) | null;
  let untilReady: () => Promise<unknown>;
  let slotOwner: (slot: number) => string | undefined;
  let scanner: ClusterScanner;

  before(() => {
    home = inVirtualTime(() => require("../../../src/client/whole-cluster/cluster-scanner"));
  });

  beforeEach(() => make(new Map()));

  function make(owners: typeof masters): void {
    masters = owners;
    asked = [];
    refreshes = null;
    untilReady = () => Promise.resolve();
    // One slot for each master.
    slotOwner = (slot) => [...masters.keys()][slot];
    const answer = async (key: string, command: string, args: unknown[]): Promise<unknown> => {
      asked.push([key, command, ...args].join(" "));
      const page = masters.get(key)?.shift() ?? new Error(`${key} was asked too often`);
      if (page instanceof Error) throw page;
      const [cursor, ...elements] = page;
      return [cursor, elements];
    };
    const wiring = {
      slots: {
        ownerOf: (slot: number) => {
          const key = slotOwner(slot);
          return key === undefined ? null : { key };
        },
      },
      openView: ({ key }: { key: string }) => ({
        scan: (...args: unknown[]) => answer(key, "scan", args),
        scanBuffer: (...args: unknown[]) => answer(key, "scanBuffer", args),
      }),
      refresher: {
        refresh: async () => {
          if (refreshes === null) throw new Error("nobody tells");
          refreshes();
        },
      },
    };
    scanner = new home.modules.ClusterScanner(wiring as never, () => untilReady());
  }

  /** As a scan stream does: page after page until the cursor is 0. */
  async function all(most = 100): Promise<string[]> {
    const found: string[] = [];
    let cursor: string | Buffer = "0";
    for (let page = 0; page < most; page++) {
      const [next, elements] = await scanner.scan(cursor, "COUNT", "10");
      found.push(...(elements as string[]));
      cursor = next;
      if (String(cursor) === "0") return found;
    }
    throw new Error("the scan does not end");
  }

  /** The same while time passes: the outcome. */
  async function allInTime(ms: number): Promise<string[] | Error> {
    let outcome: string[] | Error | null = null;
    await home.live(async () => {
      void all().then(
        (found) => (outcome = found),
        (error: Error) => (outcome = error),
      );
      await home.pass(ms + 1);
    });
    return outcome ?? new Error("not over");
  }

  it("asks one master after the other, each from its beginning and to its end", async () => {
    masters.set("a:1", [
      ["7", "x"],
      ["0", "y"],
    ]);
    masters.set("b:1", [["0", "z"]]);
    expect(await all()).to.deep.equal(["x", "y", "z"]);
    expect(asked).to.deep.equal(["a:1 scan 0 COUNT 10", "a:1 scan 7 COUNT 10", "b:1 scan 0 COUNT 10"]);
  });

  it("gives nothing where nobody owns a slot", async () => {
    expect(await scanner.scan("0")).to.deep.equal(["0", []]);
  });

  it("keeps the form that is asked for", async () => {
    masters.set("a:1", [["0", "x"]]);
    await scanner.scanBuffer("0");
    expect(asked).to.deep.equal(["a:1 scanBuffer 0"]);
  });

  it("waits until the cluster is ready before it looks who the masters are", async () => {
    untilReady = async () => void masters.set("late:1", [["0", "x"]]);
    expect(await all()).to.deep.equal(["x"]);
  });

  it("scans the successor of a master that is lost from the beginning, and no master twice", async () => {
    masters.set("a:1", [["0", "x"]]);
    masters.set("b:1", [["9", "y"], new Error(CLOSED)]);
    refreshes = () => {
      if (asked.length < 3) return;
      masters.delete("b:1");
      masters.set("c:1", [["0", "y", "z"]]);
    };
    expect(await allInTime(PAUSE_MS)).to.deep.equal(["x", "y", "y", "z"]);
    expect(asked.at(-1)).to.equal("c:1 scan 0 COUNT 10");
  });

  it("pauses after a loss, and goes on when nobody tells who the masters are", async () => {
    for (const error of [CLOSED, "LOADING data", "MASTERDOWN link", "CLUSTERDOWN down"]) {
      make(new Map([["a:1", [new Error(error), ["0", "x"]]]]));
      expect(await allInTime(PAUSE_MS), error).to.deep.equal(["x"]);
    }
    const unknown = Object.assign(new Error("Outcome unknown"), { code: "OUTCOME_UNKNOWN" });
    make(new Map([["a:1", [unknown, ["0", "x"]]]]));
    expect(await allInTime(PAUSE_MS)).to.deep.equal(["x"]);
    make(new Map([["a:1", [new Error(CLOSED), ["0", "x"]]]]));
    expect(await allInTime(PAUSE_MS - 2)).to.have.property("message", "not over");
  });

  it("fails with any other error, at once", async () => {
    for (const error of ["WRONGTYPE no", "not LOADING ", "Connection is closed. Or not"]) {
      make(new Map([["a:1", [new Error(error)]]]));
      expect(await allInTime(0), error).to.have.property("message", error);
    }
  });

  it("gives up after thirty losses in a row, and counts from one again after a page", async () => {
    const loss = new Error(CLOSED);
    masters.set("a:1", [...Array(30).fill(loss), ["1", "x"], ...Array(30).fill(loss), ["0", "y"]]);
    expect(await allInTime(60 * PAUSE_MS)).to.deep.equal(["x", "y"]);
    make(new Map([["a:1", Array(31).fill(loss)]]));
    expect(await allInTime(31 * PAUSE_MS)).to.equal(loss);
  });

  it("goes on from its cursor in another process", async () => {
    masters.set("a:1", [["7", "x"]]);
    masters.set("b:1", []);
    const [cursor] = await scanner.scan("0");
    make(
      new Map([
        ["a:1", [["0", "y"]]],
        ["b:1", [["0", "z"]]],
      ]),
    );
    const [next, elements] = await scanner.scan(cursor);
    expect(elements).to.deep.equal(["y"]);
    expect(await scanner.scan(next)).to.deep.equal(["0", ["z"]]);
    expect(asked).to.deep.equal(["a:1 scan 7", "b:1 scan 0"]);
  });

  it("scans a slot at its new owner that moved away during the scan, also to a master that is done", async () => {
    const owners = ["a:1", "b:1", "b:1"];
    masters.set("a:1", [
      ["0", "x"],
      ["0", "x", "moved"],
    ]);
    masters.set("b:1", [
      ["4", "y"],
      ["0", "z"],
    ]);
    slotOwner = (slot) => owners[slot];
    refreshes = () => {
      if (asked.length === 3) owners[2] = "a:1";
    };
    expect(await all()).to.deep.equal(["x", "y", "z", "x", "moved"]);
    expect(asked.at(-1)).to.equal("a:1 scan 0 COUNT 10");
  });

  it("refuses what is no cursor of its own", async () => {
    masters.set("a:1", [["7", "x"]]);
    const [cursor] = await scanner.scan("0");
    for (const wrong of [
      "",
      "1",
      "17",
      `${cursor}|`,
      cursor.replace("|7|", "|x|"),
      cursor.replace(/^1/, "2"),
    ]) {
      const error = await scanner.scan(wrong).catch((thrown: unknown) => thrown);
      expect(error, wrong).to.include({ code: "INVALID_ARGUMENT" });
    }
    expect(asked).to.have.length(1);
  });

  it("gives the last page of a master also when the cluster is not ready for the next one", async () => {
    masters.set("a:1", [["0", "x"]]);
    masters.set("b:1", [["0", "y"]]);
    let asks = 0;
    untilReady = async () => {
      if (++asks === 2) throw new Error("LOADING data");
    };
    const [cursor, elements] = await scanner.scan("0");
    expect([String(cursor) === "0", elements]).to.deep.equal([false, ["x"]]);
    expect(await scanner.scan(cursor).catch(({ message }: Error) => message)).to.equal("LOADING data");
    expect(await scanner.scan(cursor)).to.deep.equal(["0", ["y"]]);
  });
});
