/** The subscriptions of a cluster client without a server: its own wishes, refused names, calls without a node, stale tables. */

import { expect } from "chai";
import type { ClusterNode } from "../../../src/cluster/cluster-node";
import type { SlotMap } from "../../../src/cluster/slot-map";
import type { Placement } from "../../../src/cluster/subscription-placement";
import type { SubscriptionReconciler } from "../../../src/cluster/subscription-reconciler";
import type { Command } from "../../../src/command/command";
import { slotOfKey } from "../../../src/command/slot";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { Ending } from "../../support/ending";
import { DEAF, IDLE_MODULES, ModelSubscriber } from "../../support/model-subscriber";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { type ReconcilerModules, reconcilerModules } from "../../support/subscriber-bench";

const { Channel, Shard } = SubscriptionKind;
/** Longer than the pause before a node is asked again, and than the time for which a table may be stale. */
const LONG_MS = 3000;

describe("SubscriptionReconciler", () => {
  let home: InVirtualTime<ReconcilerModules & Pick<typeof import("../../../src/errors"), "ReplyError">>;
  let nodes: ClusterNode[];
  let connections: ModelSubscriber[];
  let told: unknown[][];
  let reconciler: SubscriptionReconciler;
  let made: Command[];
  let slots: SlotMap;

  before(() => {
    home = inVirtualTime(() => ({ ...reconcilerModules(), ...require("../../../src/errors") }));
  });

  beforeEach(() => {
    home.time.reset();
    [connections, told, made] = [[], [], []];
    nodes = [1, 2].map((port) => new home.modules.ClusterNode({ host: "h", port }));
    slots = new home.modules.SlotMap();
    make(new home.modules.AnyNode((instead) => nodes.find((node) => node !== instead) ?? nodes[0] ?? null));
  });

  afterEach(() => {
    reconciler.stop(true);
    for (const one of connections) one.end();
    for (const command of made) command.fail(new Error("the test is over"));
    expect(home.time.pending, "timers").to.equal(0);
  });

  function make(placement: Placement): void {
    const note =
      (what: string) =>
      (...words: unknown[]): void =>
        void told.push([what, ...words]);
    reconciler = new home.modules.SubscriptionReconciler(placement, 16, IDLE_MODULES, {
      ...DEAF,
      open: (node, supervisor) => {
        const connection = new ModelSubscriber(node, supervisor);
        connections.push(connection);
        return connection.client;
      },
      onRefused: (_error, _node, _kind, name) => note("refused")(String(name)),
      onSettled: note("settled"),
    });
    reconciler.start();
    told.length = 0;
  }

  function call(name: string, ...args: string[]): Command {
    const { Command: Made, specOf } = home.modules;
    const command = new Made(specOf(name), args, false, new Ending());
    made.push(command);
    reconciler.dispatch(command);
    return command;
  }

  const errorOf = ({ completion }: Command): string | undefined => (completion as Ending).error?.message;

  /** What a connection was asked and has not answered. */
  const asked = ({ given }: ModelSubscriber): string[] =>
    given.map(({ spec, args }) => [spec.lowerName, ...args].join(" "));

  /** All connections open and answer; names with an "!" are refused. */
  async function settle(): Promise<void> {
    const refusal = ({ args }: Command): Error | null =>
      args.some((name) => String(name).includes("!"))
        ? new home.modules.ReplyError("NOPERM no channel")
        : null;
    for (let i = 0; i < 10; i++) {
      await home.pass(1);
      for (const one of connections) {
        one.open();
        while (one.answer(refusal));
      }
    }
  }

  it("subscribes for the client itself until the client wants the name no more", async () => {
    const name = Buffer.from("news");
    reconciler.want(Channel, name);
    expect(reconciler.isWanted(Channel, name)).to.equal(true);
    await home.pass(1);
    expect(connections.map(asked)).to.deep.equal([["subscribe news"]]);
    expect(told, "not confirmed").to.deep.equal([]);
    await settle();
    expect(told).to.deep.equal([["settled"]]);
    reconciler.unwant(Channel, name);
    expect(reconciler.isWanted(Channel, name)).to.equal(false);
    await home.pass(1);
    expect(connections.map(asked)).to.deep.equal([["unsubscribe news"]]);
    await settle();
    expect(connections[0]?.names(Channel)).to.deep.equal([]);
  });

  it("gives up a name that the server refuses, and no other", async () => {
    for (const name of ["a", "b", "c!", "d"]) reconciler.want(Channel, Buffer.from(name));
    await home.pass(1);
    expect(connections.map(asked)).to.deep.equal([["a", "b", "c!", "d"].map((name) => `subscribe ${name}`)]);
    await settle();
    expect(connections[0]?.names(Channel)).to.deep.equal(["a", "b", "d"]);
    expect(told).to.deep.equal([["refused", "c!"], ["settled"]]);
    expect(["c!", "d"].map((name) => reconciler.isWanted(Channel, Buffer.from(name)))).to.deep.equal([
      false,
      true,
    ]);
    await home.pass(LONG_MS);
    expect(connections.flatMap(asked).filter((one) => one.startsWith("subscribe"))).to.deep.equal([]);
  });

  it("dispatches every command of a batch", () => {
    const { Command: Made, specOf } = home.modules;
    const batch = ["a", "b"].map((name) => new Made(specOf("subscribe"), [name], false, new Ending()));
    made.push(...batch);
    reconciler.dispatchBatch(batch);
    expect(connections.map(asked)).to.deep.equal([["subscribe a", "subscribe b"]]);
  });

  for (const autoResubscribe of [true, false]) {
    it(`${autoResubscribe ? "restores" : "gives up"} what a lost connection had with autoResubscribe: ${autoResubscribe}`, async () => {
      call("subscribe", "a");
      const [first] = connections as [ModelSubscriber];
      (first.client.link.options as { autoResubscribe: boolean }).autoResubscribe = autoResubscribe;
      await settle();
      first.end();
      await home.pass(LONG_MS);
      await settle();
      const names = connections.filter((one) => one !== first).flatMap((one) => one.names(Channel));
      expect(names).to.deep.equal(autoResubscribe ? ["a"] : []);
      expect(reconciler.isWanted(Channel, Buffer.from("a"))).to.equal(autoResubscribe);
    });
  }

  it("fails a call that its only node redirects, and leaves it other errors", async () => {
    const [moved, down] = [call("subscribe", "a"), call("subscribe", "b")];
    const [connection] = connections as [ModelSubscriber];
    connection.open();
    connection.answer(() => new home.modules.ReplyError("MOVED 1 h:2"));
    expect(errorOf(moved)).to.contain("Too many Cluster redirections");
    connection.answer(() => new home.modules.ReplyError("CLUSTERDOWN Hash slot not served"));
    expect(errorOf(down)).to.contain("CLUSTERDOWN");
  });

  it("fails a call for which no node is known, and keeps one that was issued before until there is one", async () => {
    const early = call("subscribe", "a");
    const known = nodes.splice(0);
    connections[0]?.end();
    await home.pass(1);
    expect([early.isSettled, connections.length]).to.deep.equal([false, 1]);
    nodes.push(known[1] as ClusterNode);
    await home.pass(150);
    expect(connections.slice(1).map(asked)).to.deep.equal([["subscribe a"]]);
    await settle();
    expect((early.completion as Ending).times).to.equal(1);
    connections[1]?.end();
    nodes.length = 0;
    expect(errorOf(call("subscribe", "late"))).to.contain("No subscriber");
  });

  it("believes a fresh confirmation more than a table that contradicts it, for a while", async () => {
    const name = Buffer.from("{a}1");
    const assign = (to: number): void => {
      slots.move(slotOfKey("{a}1"), nodes[to] as ClusterNode);
      reconciler.onTopology();
    };
    reconciler.stop(true);
    make(new home.modules.SlotMasters(slots));
    assign(0);
    reconciler.want(Shard, name);
    await settle();
    expect(connections.map((one) => one.names(Shard))).to.deep.equal([["{a}1"]]);
    assign(1);
    await settle();
    expect(
      connections.map((one) => one.names(Shard)),
      "the table may be older",
    ).to.deep.equal([["{a}1"]]);
    await home.pass(LONG_MS);
    await settle();
    expect(connections.map((one) => one.names(Shard))).to.deep.equal([[], ["{a}1"]]);
  });
});
