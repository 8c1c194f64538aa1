/**
 * The connections for shard channels on random programs, without a server: calls, confirmations, slots
 * that move with and without a word, tables late and early, losses, a cluster that closes and opens.
 * Every call settles once; in the end every wanted channel is subscribed at the node that serves its slot
 * and nowhere else, and a gap has named what was lost.
 */

import { expect } from "chai";
import fc from "fast-check";
import type { ClusterNode } from "../../../src/cluster/cluster-node";
import type { ShardedSubscribers } from "../../../src/cluster/sharded-subscribers";
import type { SlotMap } from "../../../src/cluster/slot-map";
import type { Command } from "../../../src/command/command";
import { slotOfKey } from "../../../src/command/slot";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { ReplyError } from "../../../src/errors";
import { Ending } from "../../support/ending";
import { ModelSubscriber } from "../../support/model-subscriber";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { fixedRuns } from "../../support/properties";

const { Shard } = SubscriptionKind;
const NODES = 3;
const CHANNELS = ["{a}1", "{a}2", "{b}1", "{c}1"];
const LONG_MS = 3000;

type Step =
  | { readonly do: "ssubscribe" | "sunsubscribe"; readonly names: string[] }
  | { readonly do: "open" | "answer" | "end"; readonly at: number }
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
  let home: InVirtualTime<
    typeof import("../../../src/cluster/sharded-subscribers") &
      typeof import("../../../src/cluster/cluster-node") &
      typeof import("../../../src/cluster/slot-map") &
      typeof import("../../../src/command/command") &
      typeof import("../../../src/command/command-table")
  >;

  before(() => {
    home = inVirtualTime(() => ({
      ...require("../../../src/cluster/sharded-subscribers"),
      ...require("../../../src/cluster/cluster-node"),
      ...require("../../../src/cluster/slot-map"),
      ...require("../../../src/command/command"),
      ...require("../../../src/command/command-table"),
    }));
  });

  class Bench {
    private readonly nodes: ClusterNode[];
    /** The truth: who serves a slot. */
    private readonly owners = new Map(CHANNELS.map((name, i) => [slotOfKey(name), i % NODES]));
    private readonly slots: SlotMap;
    private readonly connections: ModelSubscriber[] = [];
    private readonly calls: { readonly command: Command; readonly ending: Ending }[] = [];
    private readonly wanted = new Set<string>();
    private readonly lost = new Map<string, number>();
    private readonly problems: string[] = [];
    private readonly subscribers: ShardedSubscribers;
    private opened = 0;
    private closed = 0;

    constructor() {
      const { ClusterNode: Node, ShardedSubscribers: Subscribers, SlotMap: Slots } = home.modules;
      this.nodes = Array.from({ length: NODES }, (_, i) => new Node({ host: "h", port: 7000 + i }));
      this.slots = new Slots();
      this.subscribers = new Subscribers(this.slots, 16, {
        open: (node, watcher) => {
          const made = new ModelSubscriber(node, watcher);
          this.connections.push(made);
          return made.client;
        },
        onStale: () => {},
        onSlotsLost: () => {},
        onMoved: (slot, { port }) => this.assign(slot, port - 7000),
        onLineOpened: () => this.opened++,
        onLineClosed: () => this.closed++,
        onSettled: () => {},
        onGap: ({ shardChannels, lastedMs }) => {
          for (const name of shardChannels) {
            if (!this.wanted.has(name)) this.problems.push(`a gap of ${name}, which nobody wants`);
            this.noteGap(name, lastedMs);
          }
        },
      });
      this.takeTable();
    }

    async run(program: readonly Step[]): Promise<void> {
      this.subscribers.start();
      for (const step of program) {
        await this.step(step);
        for (const { ending } of this.calls) expect(ending.times).to.be.at.most(1);
      }
      this.subscribers.start();
      this.takeTable();
      this.subscribers.onTopology();
      for (let i = 0; i < 8; i++) {
        for (const one of this.connections) this.answerAll(one);
        await home.pass(LONG_MS / 2);
      }
      for (const { command, ending } of this.calls)
        expect(ending.times, `${command.spec.lowerName} ${command.args}`).to.equal(1);
      for (const [index, node] of this.nodes.entries()) {
        const mine = [...this.wanted].filter((name) => this.owners.get(slotOfKey(name)) === index);
        const live = this.connections.filter((one) => one.node === node && one.watcher.isCurrent);
        expect(live.length, "connections to a node").to.be.at.most(1);
        expect(live[0]?.names(Shard) ?? [], `at ${node.key}`).to.have.members(mine);
      }
      expect([...this.lost.keys()], "no gap has named it").to.deep.equal([]);
      this.subscribers.stop(true);
      for (const one of this.connections) one.end();
      expect(this.closed, "connections closed").to.equal(this.opened);
      expect(home.time.pending, "timers").to.equal(0);
      expect(this.problems).to.deep.equal([]);
    }

    private async step(step: Step): Promise<void> {
      if (step.do === "wait") await home.pass(step.ms);
      else if (step.do === "open") this.connectionAt(step.at)?.open();
      else if (step.do === "answer") this.answer(this.connectionAt(step.at));
      else if (step.do === "end") this.end(this.connectionAt(step.at));
      else if (step.do === "move") this.move(slotOfKey(step.channel), step.to, step.isTold);
      else if (step.do === "table") {
        this.takeTable();
        this.subscribers.onTopology();
      } else if (step.do === "close") {
        for (const one of this.connections) if (one.watcher.isCurrent) this.noteLost(one);
        this.subscribers.stop(false);
      } else if (step.do === "start") this.subscribers.start();
      else if (step.do === "leave all") this.call("sunsubscribe", []);
      else if ("names" in step) this.call(step.do, step.names);
    }

    /** A gap is as long as the time since the name was lost. */
    private noteGap(name: string, lastedMs: number): void {
      const lostAtMs = this.lost.get(name);
      this.lost.delete(name);
      if (lostAtMs !== undefined && lastedMs < Math.floor(home.time.nowMs - lostAtMs))
        this.problems.push(`a gap of ${lastedMs} ms, where ${name} was lost at ${lostAtMs}`);
    }

    private call(word: string, names: readonly string[]): void {
      const ending = new Ending();
      const { Command: Made, specOf } = home.modules;
      const command = new Made(specOf(word), [...names], false, ending);
      this.calls.push({ command, ending });
      const isEntry = word === "ssubscribe";
      const forget = (): void => {
        for (const name of names.length > 0 ? names : CHANNELS) {
          this.wanted.delete(name);
          this.lost.delete(name);
        }
      };
      this.subscribers.dispatch(command);
      if (!isEntry && ending.error === null) forget();
      if (command.isSettled) return;
      command.ensureExtra().addHook({
        onFulfilled: () => {
          if (isEntry) for (const name of names) this.wanted.add(name);
          else if (names.length > 0) forget();
        },
        onFailed: () => {},
      });
    }

    private connectionAt(index: number): ModelSubscriber | undefined {
      return this.connections.find((one) => one.node === this.nodes[index] && one.watcher.isCurrent);
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
      this.noteLost(connection);
      connection.end();
    }

    private noteLost(connection: ModelSubscriber): void {
      for (const name of connection.names(Shard))
        if (this.wanted.has(name)) this.lost.set(name, home.time.nowMs);
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
          if (this.wanted.has(name) && one.watcher.isCurrent) this.lost.set(name, home.time.nowMs);
          one.subscriptions.delete(Shard, Buffer.from(name));
          one.watcher.onShardLost(Buffer.from(name));
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
      fc.asyncProperty(steps, (program) => home.live(() => new Bench().run(program))),
      fixedRuns(400),
    );
  });
});
