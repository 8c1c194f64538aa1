/**
 * The connections for shard channels on random programs, without a server: calls, confirmations, slots
 * that move with and without a word, tables late and early, losses, a cluster that closes and opens.
 * Every call settles once; in the end every wanted channel is subscribed at the node that serves its slot
 * and nowhere else, and a gap has named what was lost.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { ClusterNode } from "../../../src/cluster/cluster-node";
import type { Redirect } from "../../../src/cluster/redirect";
import type { SlotMap } from "../../../src/cluster/slot-map";
import type { SubscriptionReconciler } from "../../../src/cluster/subscription-reconciler";
import type { Command } from "../../../src/command/command";
import { slotOfKey } from "../../../src/command/slot";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { ReplyError } from "../../../src/errors";
import { LONE_SLOTS } from "../../support/lone-slots";
import { DEAF, IDLE_MODULES, type ModelSubscriber } from "../../support/model-subscriber";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { fixedRuns } from "../../support/properties";
import { type ReconcilerModules, reconcilerModules, SubscriberBench } from "../../support/subscriber-bench";

const { Shard } = SubscriptionKind;
const NODES = 3;
const CHANNELS = ["{a}1", "{a}2", "{b}1", "{c}1"];
const LONG_MS = 3000;
const DOWN = "CLUSTERDOWN Hash slot not served";

type Step =
  | { readonly do: "ssubscribe" | "sunsubscribe"; readonly names: string[] }
  | { readonly do: "open" | "answer" | "end" | "be down"; readonly at: number }
  | { readonly do: "move"; readonly channel: string; readonly to: number; readonly isTold: boolean }
  | { readonly do: "table" | "close" | "start" | "leave all" }
  | { readonly do: "wait"; readonly ms: number };

const at = fc.nat(NODES - 1);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom("ssubscribe", "ssubscribe", "sunsubscribe"),
        names: fc.constantFrom(["{a}1"], ["{a}1", "{a}2"], ["{b}1"], ["{c}1"]),
      }),
    },
    { weight: 8, arbitrary: fc.record({ do: fc.constantFrom("open", "answer", "answer"), at }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("end"), at }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant("move"),
        channel: fc.constantFrom(...CHANNELS),
        to: at,
        isTold: fc.boolean(),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ do: "table" }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom({ do: "close" }, { do: "start" }, { do: "start" }, { do: "leave all" }),
    },
    { weight: 4, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(1, 150, 1100) }) },
  ) as fc.Arbitrary<Step>,
  { maxLength: 50, size: "max" },
);

describe("the connections for shard channels, on random programs", () => {
  type Modules = ReconcilerModules;
  let home: InVirtualTime<Modules>;

  before(() => {
    home = inVirtualTime(reconcilerModules);
  });

  class Bench extends SubscriberBench<Modules> {
    private readonly nodes: ClusterNode[];
    /** The truth: who serves a slot. */
    private readonly owners = new Map(CHANNELS.map((name, i) => [slotOfKey(name), i % NODES]));
    private readonly slots: SlotMap;
    private readonly subscribers: SubscriptionReconciler;
    private opened = 0;
    private closed = 0;

    constructor() {
      super(home);
      const {
        ClusterNode: Node,
        SubscriptionReconciler: Reconciler,
        SlotMap: Slots,
        SlotMasters,
      } = home.modules;
      this.nodes = Array.from({ length: NODES }, (_, i) => new Node({ host: "h", port: 7000 + i }));
      this.slots = new Slots(null, LONE_SLOTS);
      const modules = {
        ...IDLE_MODULES,
        slots: {
          learn: ({ kind, slot, target }: Redirect) => {
            if (kind === "moved" && target !== null) this.assign(slot, target.port - 7000);
          },
        },
      };
      this.subscribers = new Reconciler(new SlotMasters(this.slots), modules, {
        ...DEAF,
        open: this.open,
        onConnectionOpened: () => this.opened++,
        onConnectionClosed: () => this.closed++,
        onGap: ({ shardChannels, lastedMs }) => this.noteGap(shardChannels, lastedMs),
      });
      this.takeTable();
    }

    get isInHurry(): boolean {
      return this.subscribers.isInHurry;
    }

    isConnectedTo(index: number): boolean {
      return this.connectionAt(index) !== undefined;
    }

    /** The requests that a node has not answered. */
    requestsAt(index: number): string[] {
      const open = this.connectionAt(index)?.given.filter((one) => !one.isSettled) ?? [];
      return open.map(({ spec, args }) => `${spec.lowerName} ${args.join(" ")}`);
    }

    /** @param check Called behind the program, before the connections answer everything. */
    async run(program: readonly Step[], check?: () => void): Promise<void> {
      this.subscribers.start();
      for (const step of program) {
        await this.step(step);
        this.checkOnce();
      }
      check?.();
      this.subscribers.start();
      this.takeTable();
      this.subscribers.onTopology();
      for (let i = 0; i < 8; i++) {
        for (const one of this.connections) this.answerAll(one);
        await home.pass(LONG_MS / 2);
      }
      for (const [index, node] of this.nodes.entries()) {
        const mine = [...this.wanted].filter((name) => this.owners.get(slotOfKey(name)) === index);
        const live = this.connections.filter((one) => one.node === node && one.isCurrent);
        expect(live.length, "connections to a node").to.be.at.most(1);
        expect(live[0]?.names(Shard) ?? [], `at ${node.key}`).to.have.members(mine);
      }
      this.checkBooks();
      this.subscribers.stop(true);
      this.checkEnd();
      expect(this.closed, "connections closed").to.equal(this.opened);
    }

    private async step(step: Step): Promise<void> {
      if (step.do === "wait") await home.pass(step.ms);
      else if (step.do === "open") this.connectionAt(step.at)?.open();
      else if (step.do === "answer") this.answer(this.connectionAt(step.at));
      else if (step.do === "end") this.end(this.connectionAt(step.at));
      else if (step.do === "be down") this.connectionAt(step.at)?.answer(() => new ReplyError(DOWN));
      else if (step.do === "move") this.move(slotOfKey(step.channel), step.to, step.isTold);
      else if (step.do === "table") {
        this.takeTable();
        this.subscribers.onTopology();
      } else if (step.do === "close") {
        for (const one of this.connections) if (one.isCurrent) this.noteLost(one.names(Shard));
        this.subscribers.stop(false);
      } else if (step.do === "start") this.subscribers.start();
      else if (step.do === "leave all") this.call("sunsubscribe", []);
      else if ("names" in step) this.call(step.do, step.names);
    }

    private call(word: string, names: readonly string[]): void {
      const keys = names.length > 0 ? names : CHANNELS;
      this.issue({ word, names, keys, dispatch: (command) => this.subscribers.dispatch(command) });
    }

    private connectionAt(index: number): ModelSubscriber | undefined {
      return this.connections.find((one) => one.node === this.nodes[index] && one.isCurrent);
    }

    private answer(connection: ModelSubscriber | undefined): boolean {
      return connection?.answer((command) => this.refusal(connection, command)) === true;
    }

    private answerAll(connection: ModelSubscriber): void {
      if (connection.isLeaving) connection.end();
      connection.open();
      while (this.answer(connection));
    }

    private refusal({ node }: ModelSubscriber, { spec, args }: Command): Error | null {
      if (spec.lowerName !== "ssubscribe") return null;
      const slot = slotOfKey(String(args[0]));
      const owner = this.owners.get(slot) as number;
      return this.nodes[owner] === node ? null : new ReplyError(`MOVED ${slot} h:${7000 + owner}`);
    }

    private end(connection: ModelSubscriber | undefined): void {
      if (connection === undefined) return;
      this.noteLost(connection.names(Shard));
      connection.end();
    }

    /** The former owner ends the subscriptions of the slot, with a word or without one. */
    private move(slot: number, to: number, isTold: boolean): void {
      const from = this.owners.get(slot);
      if (from === to) return;
      this.owners.set(slot, to);
      for (const one of this.connections) {
        if (one.node !== this.nodes[from as number] || !isTold) continue;
        for (const name of CHANNELS) {
          if (slotOfKey(name) !== slot || !one.names(Shard).includes(name)) continue;
          if (one.isCurrent) this.noteLost([name]);
          one.subscriptions.delete(Shard, Buffer.from(name));
          one.shardLost(name);
        }
      }
    }

    private takeTable(): void {
      for (const [slot, owner] of this.owners) this.assign(slot, owner);
    }

    private assign(slot: number, owner: number): void {
      this.slots.move(slot, this.nodes[owner] as ClusterNode);
    }
  }

  it("has every wanted channel where its slot is, and tells what was missed", async () => {
    await fc.assert(
      fc.asyncProperty(steps, (program) => home.liveAlone(() => new Bench().run(program))),
      fixedRuns(400),
    );
  });

  const name = "{c}1";
  const [first, second] = [0, 1].map((at): Step[] => [
    { do: "open", at },
    { do: "answer", at },
  ]) as [Step[], Step[]];
  const subscribed: Step[] = [{ do: "ssubscribe", names: [name] }, ...first];

  it("asks a node again that it had asked before, once the slot is back there", async () => {
    const moved = (to: number): Step[] => [
      { do: "move", channel: name, to, isTold: true },
      { do: "table" },
      { do: "wait", ms: 1100 },
    ];
    // From here on the client subscribes by itself.
    const lost: Step[] = [{ do: "end", at: 0 }, { do: "wait", ms: 1100 }, ...first];
    await home.liveAlone(() =>
      new Bench().run([...subscribed, ...lost, ...moved(1), ...second, ...moved(0)]),
    );
  });

  /** The node refuses the SSUBSCRIBE of these steps, and receives it again within the time. */
  async function expectAskedAgain(bench: Bench, steps: readonly Step[], ms: number): Promise<void> {
    await bench.run([...steps, { do: "be down", at: 0 }, { do: "wait", ms }], () => {
      expect(bench.requestsAt(0)).to.deep.equal([`ssubscribe ${name}`]);
    });
  }

  it("asks a node again that cannot serve the slot yet, before the next look of each second", async () => {
    await home.liveAlone(async () => {
      const bench = new Bench();
      const asked: Step[] = [
        { do: "ssubscribe", names: [name] },
        { do: "open", at: 0 },
      ];
      await expectAskedAgain(bench, asked, 150);
    });
  });

  it("asks again at once when its own SSUBSCRIBE is refused amid a failover", async () => {
    await home.liveAlone(async () => {
      const bench = new Bench();
      const lost: Step[] = [
        { do: "end", at: 0 },
        { do: "wait", ms: 200 },
        { do: "open", at: 0 },
      ];
      await expectAskedAgain(bench, [...subscribed, ...lost], 10);
    });
  });

  it("pauses before it connects again to a node that it could not reach", async () => {
    await home.liveAlone(async () => {
      const bench = new Bench();
      const unreachable: Step[] = [
        { do: "ssubscribe", names: [name] },
        { do: "end", at: 0 },
        { do: "wait", ms: 20 },
      ];
      await bench.run(unreachable, () => expect(bench.isConnectedTo(0)).to.equal(false));
      const later = new Bench();
      await later.run([...unreachable, { do: "wait", ms: 200 }], () =>
        expect(later.isConnectedTo(0)).to.equal(true),
      );
    });
  });

  it("is in a hurry while a node with subscriptions is silent, but not for ever", async () => {
    await home.liveAlone(async () => {
      const hurries: boolean[] = [];
      for (const ms of [10, 3000, 60_000]) {
        const bench = new Bench();
        await bench.run([...subscribed, { do: "wait", ms }], () => void hurries.push(bench.isInHurry));
      }
      expect(hurries).to.deep.equal([false, true, false]);
    });
  });

  it("unsubscribes at a node that the table names no longer: as a replica it would go on delivering", async () => {
    const moved: Step[] = [{ do: "move", channel: name, to: 1, isTold: false }, { do: "table" }];
    await home.liveAlone(async () => {
      const bench = new Bench();
      await bench.run([...subscribed, ...moved], () => {
        const requests = [0, 1].map((at) => bench.requestsAt(at));
        expect(requests).to.deep.equal([[`sunsubscribe ${name}`], [`ssubscribe ${name}`]]);
      });
    });
  });

  it("does not subscribe at a former master that is dialled again: it may be a replica, and messages come twice", async () => {
    const dialled: Step[] = [
      { do: "end", at: 0 },
      { do: "wait", ms: 200 },
    ];
    const moved: Step[] = [{ do: "move", channel: name, to: 1, isTold: false }, { do: "table" }];
    const requests = [`ssubscribe ${name}`];
    await home.liveAlone(async () => {
      const first = new Bench();
      await first.run([...subscribed, ...dialled], () => expect(first.requestsAt(0)).to.deep.equal(requests));
      const second = new Bench();
      await second.run([...subscribed, ...dialled, ...moved], () => {
        expect([second.requestsAt(0), second.requestsAt(1)]).to.deep.equal([[], requests]);
      });
    });
  });
});
