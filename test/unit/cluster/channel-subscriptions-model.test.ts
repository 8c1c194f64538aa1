/**
 * The connection for channels and patterns on random programs, without a server: calls, confirmations,
 * refusals, losses, nodes that leave, a cluster that closes and opens. Every call settles once, one
 * connection counts, in the end it has what is wanted, and a gap names what was lost.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { ClusterNode } from "../../../src/cluster/cluster-node";
import type { SubscriptionReconciler } from "../../../src/cluster/subscription-reconciler";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { DEAF, IDLE_MODULES, type ModelSubscriber } from "../../support/model-subscriber";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { fixedRuns } from "../../support/properties";
import { type CommandModules, SubscriberBench } from "../../support/subscriber-bench";

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
  type Modules = typeof import("../../../src/cluster/subscription-reconciler") &
    typeof import("../../../src/cluster/subscription-placement") &
    typeof import("../../../src/cluster/cluster-node") &
    CommandModules;
  let home: InVirtualTime<Modules>;

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/cluster/subscription-reconciler"),
      ...require("../../../src/cluster/subscription-placement"),
      ...require("../../../src/cluster/cluster-node"),
      ...require("../../../src/command/command"),
      ...require("../../../src/command/command-table"),
    }));
  });

  class Bench extends SubscriberBench<Modules> {
    private readonly nodes = [1, 2, 3].map(
      (n) => new home.modules.ClusterNode({ host: "h", port: n }) as ClusterNode,
    );
    private readonly subscriber: SubscriptionReconciler;

    constructor() {
      super(home);
      const { AnyNode, SubscriptionReconciler: Reconciler } = home.modules;
      const choose = (instead: ClusterNode | null): ClusterNode | null =>
        this.nodes.find((node) => node !== instead) ?? null;
      this.subscriber = new Reconciler(new AnyNode(choose), IDLE_MODULES, {
        ...DEAF,
        open: this.open,
        onGap: ({ channels, patterns, lastedMs }) => {
          const told = [
            ...channels.map((name) => `${Channel}${name}`),
            ...patterns.map((name) => `${Pattern}${name}`),
          ];
          if (!told.every((name) => this.isConfirmed(name))) this.problems.push(`an early gap of ${told}`);
          this.noteGap(told, lastedMs);
        },
      });
    }

    /** The requests of the current connection that it has not answered. */
    get requests(): string[] {
      const open = this.current()?.given.filter((one) => !one.isSettled) ?? [];
      return open.map(({ spec, args }) => `${spec.lowerName} ${args.join(" ")}`);
    }

    /** @param check Called after the program, before everything is answered. */
    async run(program: readonly Step[], check?: () => void): Promise<void> {
      this.subscriber.start();
      for (const step of program) {
        await this.step(step);
        this.check();
      }
      check?.();
      this.subscriber.start();
      for (let i = 0; i < 8; i++) {
        await home.pass(LONG_MS);
        for (const one of this.connections) if (one.isLeaving) one.end();
        this.current()?.open();
        while (this.current()?.answer());
      }
      this.check();
      expect(this.confirmed(this.current()), "what is wanted").to.have.members([...this.wanted]);
      this.checkBooks();
      this.subscriber.stop(true);
      this.checkEnd();
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

    private call(word: string, names: readonly string[]): void {
      const kind = word.startsWith("p") ? Pattern : Channel;
      const keys = names.map((name) => `${kind}${name}`);
      this.issue({ word, names, keys, dispatch: (command) => this.subscriber.dispatch(command) });
    }

    /** By kind and name. */
    private confirmed(connection: ModelSubscriber | undefined): string[] {
      if (connection === undefined) return [];
      return [Channel, Pattern].flatMap((kind) => connection.names(kind).map((name) => `${kind}${name}`));
    }

    private close(): void {
      if (this.current() === undefined) this.subscriber.stop(false);
      else this.lose(this.current(), () => this.subscriber.stop(false));
    }

    /** Channels that were confirmed there are missed from now on. */
    private lose(connection: ModelSubscriber | undefined, how: (one: ModelSubscriber) => void): void {
      if (connection === undefined || connection.status === "end") return;
      if (connection === this.current()) this.noteLost(this.confirmed(connection));
      how(connection);
    }

    private current(): ModelSubscriber | undefined {
      return this.connections.find(({ isCurrent }) => isCurrent);
    }

    private isConfirmed(key: string): boolean {
      return this.confirmed(this.current()).includes(key);
    }

    private check(): void {
      const counting = this.connections.filter(({ isCurrent }) => isCurrent);
      expect(counting.length, "connections that count").to.be.at.most(1);
      // A connection whose place another has taken is told to go.
      for (const one of this.connections)
        if (!counting.includes(one) && one.status !== "end") expect(one.isLeaving).to.equal(true);
      this.checkOnce();
    }
  }

  it("settles every call, has what is wanted and tells what was missed", async () => {
    await fc.assert(
      fc.asyncProperty(steps, (program) => home.liveAlone(() => new Bench().run(program))),
      fixedRuns(400),
    );
  });

  it("sends a call at once that an abandoned connection hands back", async () => {
    await home.liveAlone(async () => {
      const bench = new Bench();
      const abandoned: Step[] = [{ do: "subscribe", names: ["a"] }, { do: "close" }, { do: "start" }];
      await bench.run([...abandoned, { do: "end" }, { do: "wait", ms: 1 }], () =>
        expect(bench.requests).to.deep.equal(["subscribe a"]),
      );
    });
  });
});
