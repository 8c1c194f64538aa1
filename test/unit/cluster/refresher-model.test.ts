/**
 * The refresher over scripted nodes: random requests, news, stops, losses, answers late and never. One
 * refresh runs at a time, an answer to a question from before a stop is not taken, requests are spaced,
 * news is asked for at once, and who asks always hears.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { ClusterNode, NodeClient } from "../../../src/cluster/cluster-node";
import type { NodePool } from "../../../src/cluster/node-pool";
import type { Informant, Refresher } from "../../../src/cluster/refresher";
import type { Command } from "../../../src/command/command";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { fixedRuns } from "../../support/properties";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;
const NODES = 3;
const TIMEOUT_MS = 500;
/** Every node is asked and silent, and so are the start nodes: no refresh takes longer. */
const LONGEST_MS = 2 * TIMEOUT_MS * NODES + 1000;
/** A node that has not answered for so long gets company. */
const STAGGER_MS = 200;
/** The shortest pause, with its jitter. */
const SHORTEST_MS = 75;

const OPTIONS = { slotsRefreshTimeout: TIMEOUT_MS };
/** Nothing waits for a table. */
const CALM = {
  views: { usesTls: false },
  retries: { hasDelayed: false },
  subscriptions: { isInHurry: false },
  owner: { onNodeError: () => {} },
};

type Step =
  | { readonly do: "refresh" | "stop" | "start" | "change" }
  | { readonly do: "request" | "news"; readonly at: number }
  | { readonly do: "behave"; readonly at: number; readonly as: Behaviour }
  | { readonly do: "wait"; readonly ms: number };
type Behaviour = "answers" | "late" | "silent" | "fails";

const at = fc.nat(NODES - 1);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom<Step>({ do: "refresh" }, { do: "change" }) },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ do: "stop" }, { do: "start" }, { do: "start" }) },
    { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("request", "news"), at }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant("behave"),
        at,
        as: fc.constantFrom("answers", "late", "silent", "fails"),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(1, 50, 250, 2000) }),
    },
  ) as fc.Arbitrary<Step>,
  { maxLength: 40, size: "max" },
);

describe("the refresher, on random programs", () => {
  let home: InVirtualTime<
    typeof import("../../../src/cluster/refresher") &
      typeof import("../../../src/cluster/cluster-node") &
      typeof import("../../../src/util/error-hint") &
      Pick<typeof import("../../../src/errors"), "ConnectionClosedError" | "ReplyError">
  >;

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/cluster/refresher"),
      ...require("../../../src/cluster/cluster-node"),
      ...require("../../../src/util/error-hint"),
      ...require("../../../src/errors"),
    }));
  });

  class Bench {
    private readonly behaviours: Behaviour[] = ["answers", "answers", "answers"];
    private readonly nodes: ClusterNode[];
    private readonly refresher: Refresher;
    /** The table of the cluster: the slot up to which the first node serves. */
    private truth = 100;
    private taken = 0;
    private asked = 0;
    /** The node that was asked last, and when. */
    private last = { at: -1, atMs: 0 };
    /** A step is under way: what is asked now is asked for. */
    private isCalled = false;
    /** By then a refresh that was stopped asks nobody any more. */
    private voidUntilMs = 0;
    /** News came while a refresh ran: another one has to follow. */
    private isDueAgain = false;
    /** Kept until the end: the refresher swallows errors of its questions. */
    private readonly problems: string[] = [];
    private promises = 0;
    private settled = 0;
    /** Moments at which somebody asked without a pause. */
    private readonly urgent: number[] = [];
    private endedAtMs = Number.NEGATIVE_INFINITY;
    /** When the refresh before the one that is booked had ended. */
    private bookedAfterMs: number | null = null;
    private isRunning = false;
    private isStarted = false;

    constructor() {
      this.nodes = Array.from({ length: NODES }, (_, index) => {
        const node = new home.modules.ClusterNode({ host: "h", port: 7000 + index });
        node.client = this.clientOf(index);
        return node;
      });
      const clientOf = (node: ClusterNode): NodeClient | null => node.client;
      this.refresher = new home.modules.Refresher(OPTIONS, {
        ...CALM,
        pool: { list: () => this.nodes, clientOf } as unknown as NodePool,
        adopt: (ranges) => this.apply(ranges[0]?.to ?? 0),
        openSeeds: () => Promise.reject(new Error("no start node")),
      });
    }

    async run(program: readonly Step[]): Promise<void> {
      this.step({ do: "start" });
      for (const step of program) {
        this.isCalled = true;
        this.step(step);
        this.isCalled = false;
        if (step.do === "wait") await this.pass(step.ms);
      }
      await this.pass(LONGEST_MS);
      expect(this.settled, "everybody hears").to.equal(this.promises);
      expect(this.isDueAgain, "news was forgotten").to.equal(false);
      this.behaviours.fill("answers");
      this.refresher.start();
      this.isStarted = true;
      this.truth++;
      this.refresher.request(null);
      await this.pass(LONGEST_MS);
      expect(this.taken, "the latest table").to.equal(this.truth);
      this.refresher.stop();
      await this.pass(LONGEST_MS);
      expect(home.time.pending, "timers").to.equal(0);
      expect(this.problems).to.deep.equal([]);
    }

    private step(step: Step): void {
      const { refresher } = this;
      const nowMs = home.time.nowMs;
      if (step.do === "refresh") {
        this.urgent.push(nowMs);
        this.promises++;
        const count = (): void => void this.settled++;
        const before = this.asked;
        const { isRunning } = this;
        refresher.refresh().then(count, count);
        if (isRunning) expect(this.asked, "who calls joins").to.equal(before);
      } else if (step.do === "request") {
        // A refresh that is booked now stays booked, also when somebody refreshes meanwhile.
        if (!this.isRunning) this.bookedAfterMs ??= this.endedAtMs;
        refresher.request(this.nodes[step.at] as ClusterNode);
      } else if (step.do === "news") {
        if (this.isStarted) this.urgent.push(nowMs);
        const before = this.asked;
        const { isRunning } = this;
        refresher.askAtOnce(this.nodes[step.at] as ClusterNode);
        // Nothing runs and it may ask: then the node that knows is the first that is asked, in this very moment.
        if (this.isStarted && !isRunning)
          expect([this.asked, this.last.at]).to.deep.equal([before + 1, step.at]);
        if (this.isStarted && isRunning) this.isDueAgain = true;
      } else if (step.do === "behave") this.behaviours[step.at] = step.as;
      else if (step.do === "change") this.truth++;
      else if (step.do === "start") {
        refresher.start();
        this.isStarted = true;
      } else if (step.do === "stop") {
        if (this.isRunning) this.voidUntilMs = nowMs + LONGEST_MS;
        refresher.stop();
        this.isStarted = false;
        this.isRunning = false;
        this.isDueAgain = false;
        this.bookedAfterMs = null;
      }
      this.noteRunning();
    }

    /** The table is taken over. */
    private apply(slot: number): boolean {
      const isChanged = slot !== this.taken;
      const { running } = this.refresher as unknown as { running: unknown };
      if (running === null) this.problems.push("a table from before a stop");
      if (slot < this.taken) this.problems.push(`table ${slot} after ${this.taken}`);
      this.taken = slot;
      return isChanged;
    }

    private clientOf(index: number): NodeClient {
      const dispatch = (command: Command): void => this.answer(index, command);
      return {
        link: { dispatch, isWritable: true, connection: null, disconnect: () => {} },
      } as unknown as NodeClient;
    }

    private answer(index: number, command: Command): void {
      this.noteQuestion(index);
      const behaviour = this.behaviours[index];
      if (behaviour === "silent") return;
      const reply = [[0, this.truth, ["h", 7000, "id"]]];
      home.time.after(behaviour === "late" ? TIMEOUT_MS - 100 : 2, () => {
        if (command.isSettled) return;
        if (behaviour === "fails") command.fail(new Error("LOADING"));
        else command.fulfil(reply, TEXT);
      });
    }

    /** A question that nobody has asked for in person comes after the pause. */
    private noteQuestion(at: number): void {
      const { nowMs } = home.time;
      // A refresh is noted as running once its first question has been asked.
      const { running } = this.refresher as unknown as { running: unknown };
      const isFirst = running === null;
      this.asked++;
      const waitedMs = nowMs - this.last.atMs;
      this.last = { at, atMs: nowMs };
      if (isFirst && !this.isCalled && nowMs < this.voidUntilMs) {
        this.isDueAgain = false;
        return;
      }
      if (!isFirst) {
        if (waitedMs > STAGGER_MS) this.problems.push(`the next node is asked after ${waitedMs} ms`);
        return;
      }
      this.isRunning = true;
      this.isDueAgain = false;
      if (!this.isStarted && !this.isCalled) this.problems.push("a refresh after a stop");
      if (this.urgent.some((atMs) => atMs >= this.endedAtMs)) return;
      const pauseMs = nowMs - (this.bookedAfterMs ?? this.endedAtMs);
      this.bookedAfterMs = null;
      if (pauseMs < SHORTEST_MS) this.problems.push(`a pause of ${pauseMs} ms`);
    }

    private noteRunning(): void {
      const { running } = this.refresher as unknown as { running: unknown };
      if (this.isRunning && running === null) this.endedAtMs = home.time.nowMs;
      this.isRunning = running !== null;
    }

    private pass(ms: number): Promise<void> {
      return home.pass(ms, () => this.noteRunning());
    }
  }

  it("runs one at a time, spaced, and takes nothing from before a stop", async () => {
    await fc.assert(
      fc.asyncProperty(steps, (program) => home.liveAlone(() => new Bench().run(program))),
      fixedRuns(400),
    );
  });

  describe("with one node that answers", () => {
    let asked: number;
    let node: ClusterNode;
    const waiting = { hasDelayed: false };
    const hurry = { isInHurry: false };

    function make(slotsRefreshInterval?: number): Refresher {
      asked = 0;
      waiting.hasDelayed = false;
      hurry.isInHurry = false;
      node = new home.modules.ClusterNode({ host: "h", port: 7000 });
      const dispatch = (command: Command): void => {
        asked++;
        command.fulfil([[0, 100, ["h", 7000, "id"]]], TEXT);
      };
      node.client = { link: { dispatch, isWritable: true, connection: null } } as unknown as NodeClient;
      return new home.modules.Refresher(
        { ...OPTIONS, slotsRefreshInterval },
        {
          ...CALM,
          retries: waiting,
          subscriptions: hurry,
          pool: { list: () => [node], clientOf: () => node.client } as unknown as NodePool,
          adopt: () => false,
          openSeeds: () => Promise.reject(new Error("no start node")),
        },
      );
    }

    it("tells why a node does not serve, and takes a failed question for serving", () =>
      home.liveAlone(async () => {
        const refresher = make();
        const reasonOf = async (answer: (command: Command) => void): Promise<string | undefined> => {
          node.client = {
            link: { dispatch: answer, isWritable: true, connection: null },
          } as unknown as NodeClient;
          const asked = refresher.reasonAgainst();
          await home.pass(TIMEOUT_MS);
          return (await asked)?.message;
        };
        expect(await reasonOf((one) => one.fulfil("cluster_state:ok", TEXT))).to.equal(undefined);
        expect(await reasonOf((one) => one.fulfil("cluster_state:fail", TEXT))).to.match(/h:7000 .*fail/);
        expect(await reasonOf((one) => one.fail(new Error("NOPERM")))).to.equal(undefined);
        expect(await reasonOf(() => {})).to.match(/h:7000 .*did not answer/);
      }));

    it("asks at the interval of the option until it is stopped", () =>
      home.liveAlone(async () => {
        const refresher = make(1000);
        refresher.start();
        // The cluster is ready again: the interval begins anew.
        refresher.start();
        await home.pass(3500);
        expect(asked).to.equal(3);
        refresher.stop();
        await home.pass(3500);
        expect([asked, home.time.pending]).to.deep.equal([3, 0]);
      }));

    it("asks again within a third of a second while commands wait for an owner, or a node is silent", () =>
      home.liveAlone(async () => {
        const refresher = make();
        refresher.start();
        const askedAfterRefresh = async (): Promise<number> => {
          asked = 0;
          await refresher.refresh();
          await home.pass(320);
          return asked;
        };
        expect(await askedAfterRefresh(), "nothing waits").to.equal(1);
        waiting.hasDelayed = true;
        expect(await askedAfterRefresh()).to.be.above(1);
        waiting.hasDelayed = false;
        const { link } = node.client as NodeClient;
        Object.assign(link, { connection: { lastActivityMs: 0, queue: { inFlight: 0 } } });
        node.suspect();
        expect(await askedAfterRefresh()).to.be.above(1);
        Object.assign(link, { connection: null });
        // The refresh that is booked already keeps its time.
        await home.pass(320);
        hurry.isInHurry = true;
        expect(await askedAfterRefresh(), "messages are being lost").to.be.above(2);
        hurry.isInHurry = false;
        await home.pass(320);
        expect(await askedAfterRefresh(), "nothing waits any more").to.equal(1);
        refresher.stop();
      }));
  });

  it("looks for the successor of a lost node, sooner if commands wait for it", async () => {
    await home.liveAlone(async () => {
      const node = new home.modules.ClusterNode({ host: "h", port: 7000 });
      const offline = { length: 0 };
      let asked = 0;
      const dispatch = (command: Command): void => {
        asked++;
        command.fulfil([[0, 100, ["h", 7000, "id"]]], TEXT);
      };
      node.client = { link: { dispatch, isWritable: true, connection: null, offline } } as never;
      const refresher = new home.modules.Refresher(OPTIONS, {
        ...CALM,
        pool: { list: () => [node], clientOf: () => node.client } as unknown as NodePool,
        adopt: () => false,
        openSeeds: () => Promise.reject(new Error("no start node")),
      });
      refresher.start();
      const askedWithin = async (ms: number): Promise<number> => {
        asked = 0;
        await refresher.refresh();
        await home.pass(ms);
        return asked;
      };
      for (let i = 0; i < 5; i++) expect(await askedWithin(2500), "no node is lost").to.equal(1);
      node.isLost = true;
      expect(await askedWithin(320), "without news the pause has grown").to.equal(1);
      expect(await askedWithin(2500)).to.be.within(2, 3);
      refresher.stop();
      refresher.start();
      offline.length = 1;
      expect(await askedWithin(320)).to.equal(2);
      refresher.stop();
    });
  });

  describe("when no node has a table", () => {
    /** Two nodes that refuse the question; the error of the refresh, and whether the nodes have denied the table. */
    async function failWith(first: Error, second: Error): Promise<{ error: Error; isDenied: boolean }> {
      const nodes = [first, second].map((refusal, index) => {
        const node = new home.modules.ClusterNode({ host: "h", port: 7000 + index });
        const dispatch = (command: Command): void => void command.fail(refusal);
        node.client = { link: { dispatch, isWritable: true, connection: null } } as never;
        return node;
      });
      const refresher = new home.modules.Refresher(OPTIONS, {
        ...CALM,
        pool: { list: () => nodes, clientOf: ({ client }: ClusterNode) => client } as unknown as NodePool,
        adopt: () => false,
        openSeeds: () => Promise.reject(new Error("no start node")),
      });
      let error = new Error("none");
      await home.liveAlone(() =>
        refresher.refresh(false).catch((reason: Error) => {
          error = reason;
        }),
      );
      return { error, isDenied: refresher.isDenied };
    }

    const NO_CLUSTER = "ERR This instance has cluster support disabled";

    it("is sure that the servers are no cluster if all of them say so", async () => {
      const { hintOf, isCertain, ReplyError } = home.modules;
      const { error, isDenied } = await failWith(new ReplyError(NO_CLUSTER), new ReplyError(NO_CLUSTER));
      expect(error).to.include({ code: "CLUSTER_ALL_FAILED" });
      expect([hintOf(error)?.includes("not a node of a cluster"), isCertain(error), isDenied]).to.deep.equal([
        true,
        true,
        true,
      ]);
    });

    it("gives no reason if they differ", async () => {
      const { hintOf, isCertain, ReplyError } = home.modules;
      const { error } = await failWith(new ReplyError(NO_CLUSTER), new Error("no answer"));
      expect([hintOf(error), isCertain(error)]).to.deep.equal([undefined, false]);
    });

    it("names a reason that may pass without being sure of it", async () => {
      const { hintOf, isCertain, ReplyError } = home.modules;
      const full = (): Error => new ReplyError("ERR max number of clients reached");
      const { error } = await failWith(full(), full());
      expect([hintOf(error)?.includes("limit of connections"), isCertain(error)]).to.deep.equal([
        true,
        false,
      ]);
    });

    it("looks behind a connection that could not be made, which denies nothing", async () => {
      const { addHint, ConnectionClosedError, hintOf, isCertain, markCertain } = home.modules;
      const closed = (): Error =>
        new ConnectionClosedError({ cause: addHint(new Error("an HTTP port"), "use another port") });
      const { error, isDenied } = await failWith(closed(), closed());
      expect([hintOf(error), isCertain(error), isDenied]).to.deep.equal(["use another port", false, false]);
      const sure = await failWith(markCertain(closed()), markCertain(closed()));
      expect(isCertain(sure.error)).to.equal(true);
      const untrusted = (): Error => markCertain(addHint(new Error("self-signed"), "trust it"));
      const refused = (): Error => new ConnectionClosedError({ cause: untrusted() });
      const { error: distrust } = await failWith(refused(), refused());
      expect([hintOf(distrust), isCertain(distrust)]).to.deep.equal(["trust it", true]);
    });
  });

  it("asks no start node when it was stopped while their names were looked up, and lets go of them", async () => {
    await home.liveAlone(async () => {
      let found: (seeds: Informant[]) => void = () => {};
      let [asked, closed] = [0, 0];
      const client = {
        link: { dispatch: () => asked++, disconnect: () => closed++ },
      } as unknown as NodeClient;
      const refresher = new home.modules.Refresher(OPTIONS, {
        ...CALM,
        pool: { list: () => [] } as unknown as NodePool,
        adopt: () => true,
        openSeeds: () => new Promise((resolve) => (found = resolve)),
      });
      refresher.start();
      const refreshed = refresher.refresh().catch((error: Error & { code?: string }) => error.code);
      await home.pass(1);
      refresher.stop();
      found([{ address: { host: "h", port: 1 }, client }]);
      expect(await refreshed).to.equal("REFRESH_VOID");
      expect([asked, closed, home.time.pending]).to.deep.equal([0, 1, 0]);
    });
  });
});
