/** The connections of a client with lanes, seen from outside: they begin and end together, and the client shows one status. */

import { expect } from "chai";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { IGNORED } from "../../../src/command/promise-completion";
import { ConnectionCounts } from "../../../src/connection/connection-counts";
import type { Gatherer } from "../../../src/lanes/lane";
import { LaneSet } from "../../../src/lanes/lane-set";
import type { Link } from "../../../src/link/link";
import type { LinkDeps } from "../../../src/link/link-options";
import type { LinkStatus } from "../../../src/link/link-state";

/** A link that does what it is told. */
class ModelLink {
  status: LinkStatus = "wait";
  isClosing = false;
  isLeaving = false;
  isWritable = false;
  mode = "normal";
  connects = 0;
  readonly disconnects: boolean[] = [];
  destroyed = 0;
  waiting: Command[] = [];
  readonly session = { db: 0, isInTransaction: false, isRefusing: false, isGuarded: false };
  readonly connection = { destroy: () => this.destroyed++, queue: { length: 0, lastOf: () => undefined } };
  readonly offline = this.makeOffline();

  constructor(readonly deps: LinkDeps) {}

  get asLink(): Link {
    return this as unknown as Link;
  }

  async connect(): Promise<void> {
    this.connects++;
  }

  disconnect(isReconnect: boolean): void {
    this.disconnects.push(isReconnect);
    if (!isReconnect) this.isClosing = true;
  }

  go(...words: LinkStatus[]): void {
    for (const word of words) {
      this.status = word;
      this.deps.listener.onStatus(word, word === "reconnecting" ? 50 : undefined);
    }
  }

  /** A fence, which is never answered. */
  dispatchBatch(): void {}

  positionOf(): object {
    return { server: `link ${this.connects}` };
  }

  private makeOffline() {
    const waiting = (): Command[] => this.waiting;
    return {
      get length() {
        return waiting().length;
      },
      pending: waiting,
      takeThose: (isWanted: (one: Command) => boolean) => {
        const taken = this.waiting.filter(isWanted);
        this.waiting = this.waiting.filter((one) => !isWanted(one));
        return taken;
      },
      lastOf: (isWanted: (one: Command) => boolean) => this.waiting.findLast(isWanted),
    };
  }
}

describe("LaneSet", () => {
  let told: unknown[][];
  let links: ModelLink[];
  let set: LaneSet;
  let settled: Command[];
  let isTaken: boolean;
  const counts = new ConnectionCounts();

  beforeEach(() => make(3, false));

  function make(lanes: number, hasBulk: boolean): void {
    told = [];
    links = [];
    settled = [];
    isTaken = false;
    const tell =
      (what: string) =>
      (...rest: unknown[]): void =>
        void told.push([what, ...rest]);
    const deps = {
      identity: { name: "", version: "" },
      credentials: () => ({}),
      listener: {
        onStatus: tell("status"),
        onNamedError: (type: string, error: Error) => void told.push([type, error.message]),
        onSelect: tell("select"),
        onGap: tell("gap"),
      },
      messages: { onMessage() {} },
      tracer: null,
      counts,
      redirects: () => isTaken,
      takeover: null,
    } as unknown as LinkDeps;
    const makeLink = (own: LinkDeps): Link => {
      const link = new ModelLink(own);
      links.push(link);
      return link.asLink;
    };
    set = new LaneSet(
      { lanes, hasBulk },
      {
        deps,
        makeLink,
        onLaneStatus: (status) => void told.push(["lane", status]),
        settleWaiting: (commands) => void settled.push(...commands),
      },
    );
    const main = new ModelLink(set.mainDeps);
    links.unshift(main);
    set.begin(main.asLink);
    // The main one was made last here, and comes first in the set.
    links = set.links as unknown as ModelLink[];
  }

  const main = (): ModelLink => links[0] as ModelLink;
  const others = (): ModelLink[] => links.slice(1);
  const statuses = (): unknown[] => told.filter(([what]) => what === "status").map(([, word]) => word);

  function ready(): void {
    main().go("connecting", "connect", "ready");
    for (const link of others()) link.go("connecting", "connect", "ready");
    told = [];
  }

  it("makes as many links as it is told to, and one more for large values", () => {
    expect(set.all.map(({ name }) => name)).to.deep.equal(["main", "lane 1", "lane 2"]);
    make(1, true);
    expect(set.all.map(({ name }) => name)).to.deep.equal(["main", "bulk"]);
    make(2, true);
    expect(set.all.map(({ name }) => name)).to.deep.equal(["main", "lane 1", "bulk"]);
  });

  it("connects all with the main one, and is ready when the last of them is", async () => {
    main().go("connecting");
    expect(others().map(({ connects }) => connects)).to.deep.equal([1, 1]);
    let isReady = false;
    void set.untilReady().then(() => (isReady = true));
    main().go("connect", "ready");
    expect([set.status, statuses()]).to.deep.equal(["connect", ["connecting", "connect"]]);
    others()[0]?.go("connecting", "connect", "ready");
    expect(set.status).to.equal("connect");
    others()[1]?.go("connecting", "connect", "ready");
    expect([set.status, statuses()]).to.deep.equal(["ready", ["connecting", "connect", "ready"]]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isReady).to.equal(true);
    await set.untilReady();
  });

  it("does not connect a lane that is under way already", () => {
    (others()[0] as ModelLink).status = "reconnecting";
    (others()[1] as ModelLink).status = "end";
    main().go("connecting");
    expect(others().map(({ connects }) => connects)).to.deep.equal([0, 1]);
  });

  it("is woken by a command for any of its lanes", () => {
    others()[1]?.go("connecting");
    expect(main().connects).to.equal(1);
    main().status = "connecting";
    others()[0]?.go("connecting");
    expect(main().connects).to.equal(1);
  });

  it("fails those who wait for it when the main connection closes before, or there is none", async () => {
    const message = ({ message: text }: Error): string => text;
    expect(await set.untilReady().catch(message)).to.equal("Connection is closed.");
    main().go("connecting");
    const waiter = set.untilReady().catch(message);
    main().go("close");
    expect(await waiter).to.equal("Connection is closed.");
  });

  it("goes on being ready when another lane is lost, and says that one is and when all are again", () => {
    ready();
    others()[0]?.go("close", "reconnecting");
    expect([set.status, told]).to.deep.equal(["ready", [["lane", "reconnecting"]]]);
    others()[1]?.go("close", "reconnecting");
    others()[0]?.go("connecting", "connect", "ready");
    expect(told.filter(([, word]) => word === "ready")).to.deep.equal([]);
    others()[1]?.go("connecting", "connect", "ready");
    expect(told.at(-1)).to.deep.equal(["lane", "ready"]);
    expect(statuses()).to.deep.equal([]);
  });

  it("has the words of the main one, and their arguments, while that is lost", () => {
    ready();
    main().go("close", "reconnecting");
    expect([set.status, told]).to.deep.equal([
      "reconnecting",
      [
        ["status", "close", undefined],
        ["status", "reconnecting", 50],
      ],
    ]);
    main().go("connecting", "connect", "ready");
    expect(statuses().at(-1)).to.equal("ready");
  });

  it("ends all with the main one, and has ended when the last of them has", () => {
    ready();
    main().go("close", "end");
    expect(others().map(({ disconnects }) => disconnects)).to.deep.equal([[false], [false]]);
    expect([set.status, statuses()]).to.deep.equal(["close", ["close"]]);
    others()[0]?.go("end");
    expect([set.status, statuses()]).to.deep.equal(["close", ["close"]]);
    others()[1]?.go("end");
    expect([set.status, statuses()]).to.deep.equal(["end", ["close", "end"]]);
  });

  it("has ended at once where the others have", () => {
    for (const link of others()) link.status = "end";
    main().go("close", "end");
    expect([set.status, others().map(({ disconnects }) => disconnects)]).to.deep.equal(["end", [[], []]]);
  });

  it("has ended before it begins anew, although lanes are still ending, and connects those then", () => {
    ready();
    main().go("close", "end");
    main().isClosing = false;
    main().go("connecting");
    expect(statuses()).to.deep.equal(["close", "end", "connecting"]);
    others()[0]?.go("end");
    expect(others().map(({ connects }) => connects)).to.deep.equal([2, 1]);
    others()[1]?.go("end");
    expect(others().map(({ connects }) => connects)).to.deep.equal([2, 2]);
  });

  it("ends the client when a lane gives up by itself", () => {
    ready();
    others()[0]?.go("end");
    expect(main().disconnects).to.deep.equal([undefined]);
  });

  it("asks nothing of a main connection that ends already, or has ended, when a lane gives up", () => {
    ready();
    main().isClosing = true;
    others()[0]?.go("end");
    main().isClosing = false;
    main().go("close", "end");
    others()[1]?.go("end");
    others()[1]?.go("connecting", "end");
    expect([main().disconnects, statuses()]).to.deep.equal([[], ["close", "end"]]);
  });

  it("leaves a lane that was asked to end as it is while there is no main connection", () => {
    set.disconnect(false);
    others()[0]?.go("end");
    expect([main().disconnects, others()[0]?.connects]).to.deep.equal([[], 0]);
  });

  it("ends what is held for all lanes when the client disconnects, and keeps it for a reconnect", () => {
    main().waiting.push(new Command(specOf("get"), ["a"], false, IGNORED));
    const barrier = new Command(specOf("flushall"), [], false, IGNORED);
    others()[0]?.waiting.push(new Command(specOf("get"), ["b"], false, IGNORED));
    set.lanes.dispatch(barrier);
    expect(set.gathered).to.deep.equal([barrier]);
    set.disconnect(true);
    expect(settled).to.deep.equal([]);
    set.disconnect(false);
    expect(settled).to.deep.equal([barrier]);
  });

  it("disconnects the other lanes: what is held ends, or all of it is kept for a reconnect", () => {
    ready();
    set.disconnect(true);
    expect(others().map(({ disconnects }) => disconnects)).to.deep.equal([[true], [true]]);
    (others()[0] as ModelLink).status = "end";
    set.disconnect(false);
    expect(others().map(({ disconnects }) => disconnects)).to.deep.equal([[true], [true, false]]);
    others()[1]?.go("end");
    expect(main().disconnects, "it was asked to").to.deep.equal([]);
  });

  it("tells the errors of a lane as they are while the main one is ready, and else those that end it", () => {
    const [lane] = others() as [ModelLink];
    lane.deps.listener.onNamedError("error", new Error("first"));
    lane.deps.listener.onNamedError("busy", new Error("second"));
    expect(told).to.deep.equal([["busy", "second"]]);
    main().isClosing = true;
    lane.go("end");
    expect(told.at(-1)).to.deep.equal(["error", "first"]);
    ready();
    lane.deps.listener.onNamedError("error", new Error("third"));
    lane.go("end");
    expect(told.filter(([what]) => what === "error")).to.deep.equal([["error", "third"]]);
  });

  it("forgets the error of a lane that became ready after all", () => {
    const [lane] = others() as [ModelLink];
    lane.deps.listener.onNamedError("error", new Error("first"));
    lane.go("ready");
    main().isClosing = true;
    lane.go("end");
    expect(told.filter(([what]) => what === "error")).to.deep.equal([]);
  });

  it("tells selects and gaps of the main one alone, and gives messages to no other", () => {
    main().deps.listener.onSelect(3);
    main().deps.listener.onGap({} as never);
    others()[0]?.deps.listener.onSelect(3);
    others()[0]?.deps.listener.onGap({} as never);
    expect(told.map(([what]) => what)).to.deep.equal(["select", "gap"]);
    expect(links.map(({ deps }) => deps.messages === null)).to.deep.equal([false, true, true]);
  });

  it("adds up the counts of all connections, each lane counting for itself", () => {
    counts.opened = 1;
    for (const link of others()) (link.deps.counts as { opened: number }).opened += 2;
    expect(set.totals.opened).to.equal(5);
    counts.opened = 0;
  });

  it("notes that a command of the main one goes on elsewhere", () => {
    let taken = 0;
    set.lanes.onTaken = () => void taken++;
    for (const isOne of [false, true]) {
      isTaken = isOne;
      expect(set.mainDeps.redirects({} as Command, new Error("MOVED"))).to.equal(isOne);
    }
    expect(taken).to.equal(1);
  });

  it("gathers in each lane for itself; what was gathered before leaves first", () => {
    const done: string[] = [];
    const gatherer = (name: string): Gatherer => ({
      gathered: [],
      size: 0,
      flush: () => void done.push(`flush ${name}`),
      hold: (isHolding) => void done.push(`${isHolding ? "hold" : "release"} ${name}`),
      lastOf: () => undefined,
      dispatch() {},
      dispatchBatch() {},
    });
    main().status = "ready";
    let name = 0;
    set.gather(() => gatherer(`old ${name++}`));
    expect(done).to.deep.equal(["hold old 0"]);
    done.length = 0;
    name = 0;
    set.gather(() => gatherer(`new ${name++}`));
    expect(done).to.deep.equal(["flush old 0", "hold new 0", "flush old 1", "flush old 2"]);
    done.length = 0;
    others()[0]?.go("ready", "close");
    main().go("close");
    expect(done).to.deep.equal(["hold new 1", "release new 1", "release new 0"]);
    done.length = 0;
    set.flush();
    expect(done).to.deep.equal(["flush new 0", "flush new 1", "flush new 2"]);
  });

  it("takes out, finds and counts what waits in any lane", () => {
    const [first, second] = ["a", "b"].map((key) => new Command(specOf("get"), [key], false, IGNORED)) as [
      Command,
      Command,
    ];
    expect([set.isWaiting, set.isBusy]).to.deep.equal([false, false]);
    main().waiting.push(first);
    others()[1]?.waiting.push(second);
    expect([set.isWaiting, set.isBusy]).to.deep.equal([true, true]);
    expect(set.lastOf((one) => one === second)).to.equal(second);
    expect(set.lastOf(() => false)).to.equal(undefined);
    (others()[1] as ModelLink).connects = 7;
    expect(set.positionOf(second)).to.deep.equal({ server: "link 7" });
    expect(set.takeWaiting((one) => one === second)).to.deep.equal([second]);
    others()[1]?.waiting.push(second);
    expect(set.takeWaiting(() => true)).to.deep.equal([first, second]);
    expect(set.isWaiting).to.equal(false);
  });

  it("destroys all connections at once", () => {
    set.destroy();
    expect(links.map(({ destroyed }) => destroyed)).to.deep.equal([1, 1, 1]);
  });
});
