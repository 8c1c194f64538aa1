/**
 * The connection for channels and patterns on random programs, without a server: calls, confirmations,
 * refusals, losses, nodes that leave, a cluster that closes and opens. Every call settles once, one
 * connection counts, in the end it has what is wanted, and a gap names what was lost.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { ClusterNode } from "../../../src/cluster/cluster-node";
import type { ClusterSubscriber } from "../../../src/cluster/cluster-subscriber";
import type { Command } from "../../../src/command/command";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { Ending } from "../../support/ending";
import { ModelSubscriber } from "../../support/model-subscriber";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { fixedRuns } from "../../support/properties";

const { Channel, Pattern } = SubscriptionKind;
/** Longer than any pause before the next connection. */
const LONG_MS = 3000;

type Step =
  | { readonly do: "subscribe" | "unsubscribe" | "psubscribe" | "punsubscribe"; readonly names: string[] }
  | { readonly do: "open" | "answer" | "end" | "leave" | "close" | "start" }
  | { readonly do: "wait"; readonly ms: number };

const names = fc.subarray(["a", "b", "c"], { minLength: 1 });
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom("subscribe", "subscribe", "unsubscribe", "psubscribe", "punsubscribe"),
        names,
      }),
    },
    { weight: 8, arbitrary: fc.constantFrom<Step>({ do: "open" }, { do: "answer" }, { do: "answer" }) },
    { weight: 2, arbitrary: fc.constantFrom<Step>({ do: "end" }, { do: "leave" }) },
    { weight: 1, arbitrary: fc.constantFrom<Step>({ do: "close" }, { do: "start" }, { do: "start" }) },
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(1, 200, 1100, LONG_MS) }),
    },
  ) as fc.Arbitrary<Step>,
  { maxLength: 50, size: "max" },
);

describe("the connection for channels, on random programs", () => {
  let home: InVirtualTime<
    typeof import("../../../src/cluster/cluster-subscriber") &
      typeof import("../../../src/cluster/cluster-node") &
      typeof import("../../../src/command/command") &
      typeof import("../../../src/command/command-table")
  >;

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/cluster/cluster-subscriber"),
      ...require("../../../src/cluster/cluster-node"),
      ...require("../../../src/command/command"),
      ...require("../../../src/command/command-table"),
    }));
  });

  class Bench {
    private readonly nodes = [1, 2, 3].map(
      (n) => new home.modules.ClusterNode({ host: "h", port: n }) as ClusterNode,
    );
    private readonly connections: ModelSubscriber[] = [];
    private readonly calls: { readonly command: Command; readonly ending: Ending }[] = [];
    /** By kind and name: confirmed to a caller and not given up by one since. */
    private readonly wanted = new Set<string>();
    /** Names that a connection had confirmed and lost, and that no gap has told yet. */
    private readonly lost = new Map<string, number>();
    private readonly problems: string[] = [];
    private readonly subscriber: ClusterSubscriber;

    constructor() {
      this.subscriber = new home.modules.ClusterSubscriber({
        open: (node, watcher) => {
          const made = new ModelSubscriber(node, watcher);
          this.connections.push(made);
          return made.client;
        },
        choose: (instead) => this.nodes.find((node) => node !== instead) ?? null,
        onMisplaced: () => false,
        onRefused: () => {},
        onGap: ({ channels, patterns, lastedMs }) => {
          const told = [...channels.map((name) => `0${name}`), ...patterns.map((name) => `1${name}`)];
          for (const name of told)
            if (!this.wanted.has(name)) this.problems.push(`a gap of ${name}, which nobody wants`);
          if (!told.every((name) => this.isConfirmed(name))) this.problems.push(`an early gap of ${told}`);
          for (const name of told) this.noteGap(name, lastedMs);
        },
      });
    }

    async run(program: readonly Step[]): Promise<void> {
      this.subscriber.start();
      for (const step of program) {
        await this.step(step);
        this.check();
      }
      this.subscriber.start();
      for (let i = 0; i < 8; i++) {
        await home.pass(LONG_MS);
        for (const one of this.connections) if (one.isLeaving) one.end();
        this.current()?.open();
        while (this.current()?.answer());
      }
      this.check();
      for (const { command, ending } of this.calls)
        expect(ending.times, `${command.spec.lowerName} ${command.args}`).to.equal(1);
      const confirmed = [Channel, Pattern].flatMap(
        (kind) =>
          this.current()
            ?.names(kind)
            .map((name) => `${kind}${name}`) ?? [],
      );
      expect(confirmed, "what is wanted").to.have.members([...this.wanted]);
      expect([...this.lost.keys()], "no gap has named it").to.deep.equal([]);
      this.subscriber.stop(true);
      for (const one of this.connections) one.end();
      expect(home.time.pending, "timers").to.equal(0);
      expect(this.problems).to.deep.equal([]);
    }

    private async step(step: Step): Promise<void> {
      if (step.do === "wait") await home.pass(step.ms);
      else if (step.do === "open") this.current()?.open();
      else if (step.do === "answer") this.current()?.answer();
      else if (step.do === "end") this.lose(this.connections.at(-1), (one) => one.end());
      else if (step.do === "leave") this.lose(this.current(), (one) => this.subscriber.onNodeGone(one.node));
      else if (step.do === "close") this.close();
      else if (step.do === "start") this.subscriber.start();
      else if ("names" in step) this.call(step.do, step.names);
    }

    /** A gap is as long as the time since the name was lost. */
    private noteGap(name: string, lastedMs: number): void {
      const lostAtMs = this.lost.get(name);
      this.lost.delete(name);
      if (lostAtMs !== undefined && lastedMs < Math.floor(home.time.nowMs - lostAtMs))
        this.problems.push(`a gap of ${lastedMs} ms, where ${name} was lost at ${lostAtMs}`);
    }

    private call(word: string, given: readonly string[]): void {
      const ending = new Ending();
      const { Command: Made, specOf } = home.modules;
      const command = new Made(specOf(word), [...given], false, ending);
      const kind = word.startsWith("p") ? Pattern : Channel;
      const keys = given.map((name) => `${kind}${name}`);
      const isEntry = !word.includes("un");
      this.calls.push({ command, ending });
      this.subscriber.dispatch(command);
      const forget = (): void => {
        for (const key of keys) {
          this.wanted.delete(key);
          this.lost.delete(key);
        }
      };
      if (command.isSettled) return;
      if (!isEntry) forget();
      command.ensureExtra().addHook({
        onFulfilled: () => {
          if (!isEntry) forget();
          else for (const key of keys) this.wanted.add(key);
        },
        onFailed: () => {},
      });
    }

    private close(): void {
      if (this.current() === undefined) this.subscriber.stop(false);
      else this.lose(this.current(), () => this.subscriber.stop(false));
    }

    /** What was confirmed there is missed from now on. */
    private lose(connection: ModelSubscriber | undefined, how: (one: ModelSubscriber) => void): void {
      if (connection === undefined || connection.status === "end") return;
      if (connection === this.current()) {
        for (const kind of [Channel, Pattern])
          for (const name of connection.names(kind))
            if (this.wanted.has(`${kind}${name}`)) this.lost.set(`${kind}${name}`, home.time.nowMs);
      }
      how(connection);
    }

    private current(): ModelSubscriber | undefined {
      return this.connections.find(({ watcher }) => watcher.isCurrent);
    }

    private isConfirmed(key: string): boolean {
      const kind = Number(key[0]) as SubscriptionKind;
      return this.current()?.names(kind).includes(key.slice(1)) === true;
    }

    private check(): void {
      const counting = this.connections.filter(({ watcher }) => watcher.isCurrent);
      expect(counting.length, "connections that count").to.be.at.most(1);
      // A connection whose place another has taken is told to go.
      for (const one of this.connections)
        if (!counting.includes(one) && one.status !== "end") expect(one.isLeaving).to.equal(true);
      for (const { ending } of this.calls) expect(ending.times).to.be.at.most(1);
    }
  }

  it("settles every call, has what is wanted and tells what was missed", async () => {
    await fc.assert(
      fc.asyncProperty(steps, (program) => home.live(() => new Bench().run(program))),
      fixedRuns(400),
    );
  });
});
