/** The subscriptions of a cluster client without a server: its own wishes, refused names, calls without a node, stale tables. */

import { expect } from "chai";
import type { ClusterNode } from "../../../src/cluster/cluster-node";
import type { Redirect } from "../../../src/cluster/redirect";
import type { SlotMap } from "../../../src/cluster/slot-map";
import type { Placement } from "../../../src/cluster/subscription-placement";
import type { SubscriptionReconciler } from "../../../src/cluster/subscription-reconciler";
import type { Command } from "../../../src/command/command";
import { slotOfKey } from "../../../src/command/slot";
import { type SubscriptionGap, SubscriptionKind } from "../../../src/connection/subscriptions";
import { Ending } from "../../support/ending";
import { LONE_SLOTS } from "../../support/lone-slots";
import { DEAF, IDLE_MODULES, ModelSubscriber } from "../../support/model-subscriber";
import { type InVirtualTime, inVirtualTime } from "../../support/modules-in-virtual-time";
import { type ReconcilerModules, reconcilerModules } from "../../support/subscriber-bench";

const { Channel, Shard } = SubscriptionKind;
/** Longer than the pause before a node is asked again, and than the time for which a table may be stale. */
const LONG_MS = 3000;
const MOST_REDIRECTS = 16;

describe("SubscriptionReconciler", () => {
  let home: InVirtualTime<ReconcilerModules & Pick<typeof import("../../../src/errors"), "ReplyError">>;
  let nodes: ClusterNode[];
  let connections: ModelSubscriber[];
  let told: unknown[][];
  let gaps: SubscriptionGap[];
  let opened: string[];
  /** What it has asked of the modules that know the nodes. */
  let asks: string[];
  let reconciler: SubscriptionReconciler;
  let made: Command[];
  let slots: SlotMap;

  before(() => {
    home = inVirtualTime(() => ({ ...reconcilerModules(), ...require("../../../src/errors") }));
  });

  beforeEach(() => {
    home.time.reset();
    [connections, told, made, asks, gaps, opened] = [[], [], [], [], [], []];
    nodes = [1, 2].map((port) => new home.modules.ClusterNode({ host: "h", port }));
    slots = new home.modules.SlotMap(null, LONE_SLOTS);
    make(new home.modules.AnyNode((instead) => nodes.find((node) => node !== instead) ?? nodes[0] ?? null));
  });

  afterEach(async () => {
    reconciler.stop(true);
    for (const one of connections) one.end();
    for (const command of made) command.fail(new Error("the test is over"));
    await marks();
    expect(home.time.pending, "timers").to.equal(0);
  });

  /** The ends of passed times are timers as well: those that are due run. */
  function marks(): Promise<void> {
    return home.time.run(() => false, 0);
  }

  function make(placement: Placement): void {
    const note =
      (what: string) =>
      (...words: unknown[]): void =>
        void told.push([what, ...words]);
    const modules = {
      ...IDLE_MODULES,
      slots: {
        learn: ({ kind, slot, target }: Redirect) => {
          if (kind === "moved" && target !== null) asks.push(`${slot} is at ${target.port}`);
        },
      },
      refresher: {
        request: () => void asks.push("table"),
        askAtOnce: ({ address }: ClusterNode) => void asks.push(`${address.port} at once`),
      },
    };
    reconciler = new home.modules.SubscriptionReconciler(placement, modules, {
      ...DEAF,
      onNodeError: (error, node) => note("error")(error.message, node.key),
      open: (node, supervisor) => {
        const connection = new ModelSubscriber(node, supervisor);
        connections.push(connection);
        return connection.client;
      },
      onConnectionOpened: () => void opened.push("opened"),
      onConnectionClosed: () => void opened.push("closed"),
      onGap: (gap) => void gaps.push(gap),
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

  /** A subscription to `{a}1`, confirmed by its master. */
  async function subscribed(): Promise<ModelSubscriber> {
    spread();
    call("ssubscribe", "{a}1");
    await settle();
    asks.length = 0;
    return connections[0] as ModelSubscriber;
  }

  /** The server has ended that subscription. */
  function endAt(connection: ModelSubscriber): void {
    connection.subscriptions.delete(Shard, Buffer.from("{a}1"));
    connection.shardLost("{a}1");
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

  it("sends a redirected call to the new owner immediately, and waits for one while the old one is still known", async () => {
    const slot = slotOfKey("{a}1");
    const redirect = (): Error => new home.modules.ReplyError(`MOVED ${slot} h:2`);
    for (const isKnown of [true, false]) {
      reconciler.stop(true);
      for (const one of connections.splice(0)) one.end();
      make(new home.modules.SlotMasters(slots));
      slots.move(slot, nodes[0] as ClusterNode);
      const command = call("ssubscribe", "{a}1");
      const [first] = connections as [ModelSubscriber];
      first.open();
      if (isKnown) slots.move(slot, nodes[1] as ClusterNode);
      first.answer(redirect);
      expect([first, ...connections.slice(1)].map(asked)).to.deep.equal(
        isKnown ? [[], ["ssubscribe {a}1"]] : [[]],
      );
      slots.move(slot, nodes[1] as ClusterNode);
      await home.pass(150);
      expect(connections.slice(1).map(asked)).to.deep.equal([["ssubscribe {a}1"]]);
      await settle();
      expect([errorOf(command), (command.completion as Ending).times]).to.deep.equal([undefined, 1]);
    }
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

  /** Each name is at the master of its slot: the channel "{a}1" at the first node. */
  function spread(): number {
    reconciler.stop(true);
    for (const one of connections.splice(0)) one.end();
    make(new home.modules.SlotMasters(slots));
    const slot = slotOfKey("{a}1");
    slots.move(slot, nodes[0] as ClusterNode);
    asks.length = 0;
    return slot;
  }

  /** The pauses in ms until each of the next connections is opened, which ends as soon as it is. */
  async function pausesOf(count: number, end: (connection: ModelSubscriber) => void): Promise<number[]> {
    const pauses: number[] = [];
    while (pauses.length < count) {
      const before = connections.length;
      const startedAt = home.time.nowMs;
      end(connections.at(-1) as ModelSubscriber);
      while (connections.length === before) await home.pass(1);
      pauses.push(home.time.nowMs - startedAt);
    }
    return pauses;
  }

  it("tries a node that it cannot reach a few times a second, and not in a loop", async () => {
    nodes.length = 1;
    call("subscribe", "a");
    for (const pause of await pausesOf(8, (one) => one.end())) expect(pause).to.be.within(50, 500);
    expect(asks[0], "the table may name other nodes").to.equal("table");
  });

  it("connects again at once behind a connection that has lasted, and not in a loop", async () => {
    nodes.length = 1;
    call("subscribe", "a");
    await settle();
    await home.pass(LONG_MS);
    const reconnected = await pausesOf(4, (one) => {
      one.open();
      one.end();
    });
    expect(reconnected[0]).to.be.below(10);
    for (const pause of reconnected.slice(1)) expect(pause).to.be.within(50, 500);
  });

  it("forgets its pauses when the cluster opens again", async () => {
    nodes.length = 1;
    call("subscribe", "a");
    await pausesOf(5, (one) => one.end());
    connections.at(-1)?.end();
    reconciler.stop(false);
    const before = connections.length;
    reconciler.start();
    expect(connections.length - before).to.equal(1);
  });

  it("keeps what is wanted while the cluster is closed, and asks for it when it opens", async () => {
    call("subscribe", "a");
    await settle();
    reconciler.stop(false);
    expect(connections.map(({ isLeaving }) => isLeaving)).to.deep.equal([true]);
    await marks();
    expect(home.time.pending, "timers").to.equal(0);
    reconciler.onTopology();
    reconciler.openTo(nodes);
    reconciler.want(Channel, Buffer.from("b"));
    await home.pass(LONG_MS);
    expect(connections).to.have.length(1);
    expect(errorOf(call("subscribe", "c"))).to.contain("No subscriber");
    reconciler.start();
    expect(connections.slice(1).map(asked)).to.deep.equal([["subscribe a", "subscribe b"]]);
    await settle();
  });

  it("connects to nodes before the first subscription", () => {
    reconciler.openTo(nodes);
    expect(connections.map(({ node }) => node)).to.deep.equal(nodes);
    reconciler.openTo(nodes);
    expect(connections).to.have.length(2);
  });

  it("sends a call of a removed node to another one at once", async () => {
    const command = call("subscribe", "a");
    const [first] = connections as [ModelSubscriber];
    first.open();
    reconciler.onNodeGone(nodes[1] as ClusterNode);
    expect(first.isLeaving, "another node").to.equal(false);
    reconciler.onNodeGone(first.node);
    expect(first.status).to.equal("end");
    await home.pass(1);
    expect(connections.slice(1).map(asked)).to.deep.equal([["subscribe a"]]);
    await settle();
    expect((command.completion as Ending).times).to.equal(1);
  });

  it("keeps the connection to the master of a slot that is removed: only a table names another one", () => {
    spread();
    call("ssubscribe", "{a}1");
    reconciler.onNodeGone(nodes[0] as ClusterNode);
    expect(connections.map(({ isLeaving }) => isLeaving)).to.deep.equal([false]);
  });

  it("leaves a silent node for another one after a while, and asks for a table before", async () => {
    call("subscribe", "a");
    await settle();
    asks.length = 0;
    await home.pass(2000);
    expect(connections.map(asked), "a request to a node that sends nothing").to.deep.equal([["ping"]]);
    expect(asks).to.include("table");
    await home.pass(2000);
    expect(connections.map(({ node, isLeaving }) => [node, isLeaving])).to.deep.equal([
      [nodes[0], true],
      [nodes[1], false],
    ]);
  });

  it("stays at a silent node that is the only one", async () => {
    nodes.length = 1;
    call("subscribe", "a");
    await settle();
    await home.pass(3 * LONG_MS);
    expect(connections.map(({ isLeaving }) => isLeaving)).to.deep.equal([false]);
  });

  it("learns the owner that a node names, and asks the others for a table", async () => {
    const slot = spread();
    call("ssubscribe", "{a}1");
    const [first] = connections as [ModelSubscriber];
    first.open();
    first.answer(() => new home.modules.ReplyError(`MOVED ${slot} h:2`));
    expect(asks).to.deep.equal([`${slot} is at 2`, "table"]);
    asks.length = 0;
    await home.pass(150);
    first.answer(() => new home.modules.ReplyError("CLUSTERDOWN Hash slot not served"));
    expect(asks, "no owner is named").to.deep.equal(["table"]);
  });

  it("fails a call that nodes redirect again and again, with a pause between the attempts", async () => {
    const slot = spread();
    const startedAt = home.time.nowMs;
    const command = call("ssubscribe", "{a}1");
    const [first] = connections as [ModelSubscriber];
    first.open();
    let answers = 0;
    const refusal = (one: Command): Error => {
      if (one === command) answers++;
      return new home.modules.ReplyError(`MOVED ${slot} h:1`);
    };
    while (!command.isSettled) {
      while (first.answer(refusal));
      await home.pass(10);
    }
    expect(errorOf(command)).to.contain("Too many Cluster redirections");
    expect(errorOf(command), "the node").to.contain("h:1");
    expect(answers).to.equal(MOST_REDIRECTS + 1);
    expect(home.time.nowMs - startedAt).to.be.above(MOST_REDIRECTS * 90);
  });

  it("asks for a table when a slot leaves, and does not ask its former master again at once", async () => {
    const first = await subscribed();
    endAt(first);
    expect(asks).to.deep.equal(["1 at once"]);
    await home.pass(1);
    expect(asked(first), "it may be a replica by now").to.deep.equal([]);
    slots.move(slotOfKey("{a}1"), nodes[1] as ClusterNode);
    reconciler.onTopology();
    expect(connections.slice(1).map(asked)).to.deep.equal([["ssubscribe {a}1"]]);
  });

  it("asks the same master again if the table goes on naming it", async () => {
    const first = await subscribed();
    endAt(first);
    await home.pass(LONG_MS);
    expect(asked(first).filter((one) => one !== "ping")).to.deep.equal(["ssubscribe {a}1"]);
  });

  it("does not ask nodes without a pause while slots keep moving", async () => {
    const first = await subscribed();
    for (let i = 0; i < 20; i++) first.shardLost("{a}1");
    expect(asks.filter((one) => one === "1 at once")).to.have.length(4);
    expect(asks.filter((one) => one === "table")).to.have.length(16);
  });

  it("ends all subscriptions of a kind on every node with one call", async () => {
    spread();
    expect((call("sunsubscribe").completion as Ending).times, "no node has one").to.equal(1);
    slots.move(slotOfKey("{b}1"), nodes[1] as ClusterNode);
    for (const name of ["{a}1", "{b}1"]) call("ssubscribe", name);
    await settle();
    const command = call("sunsubscribe");
    expect(connections.map(asked)).to.deep.equal([["sunsubscribe"], ["sunsubscribe"]]);
    expect(reconciler.isWanted(Shard, Buffer.from("{a}1"))).to.equal(false);
    connections[0]?.answer();
    expect(command.isSettled, "a node has not answered").to.equal(false);
    connections[1]?.answer();
    expect((command.completion as Ending).times).to.equal(1);
    await home.pass(LONG_MS);
    expect(connections.flatMap(({ subscriptions }) => subscriptions.names(Shard))).to.deep.equal([]);
  });

  it("refuses a call whose channels are in several slots", () => {
    spread();
    expect(errorOf(call("ssubscribe", "{a}1", "{b}1"))).to.contain("CROSSSLOT");
    expect(connections).to.deep.equal([]);
  });

  it("closes a connection to a node that has no slots and no subscriptions any more", async () => {
    spread();
    call("ssubscribe", "{a}1");
    await settle();
    call("sunsubscribe", "{a}1");
    await settle();
    await home.pass(LONG_MS);
    expect(
      connections.map(({ isLeaving }) => isLeaving),
      "it has slots",
    ).to.deep.equal([false]);
    (nodes[0] as ClusterNode).shard = null;
    reconciler.onTopology();
    expect(connections.map(({ isLeaving }) => isLeaving)).to.deep.equal([true]);
  });

  it("keeps the order of calls while one waits for the next connection", async () => {
    call("subscribe", "a");
    connections[0]?.end();
    call("unsubscribe", "a");
    expect(connections).to.have.length(1);
    await home.pass(1);
    expect(connections.slice(1).map(asked)).to.deep.equal([["subscribe a", "unsubscribe a"]]);
    await settle();
    expect(connections[1]?.names(Channel)).to.deep.equal([]);
  });

  it("says that a name is subscribed also if a caller has subscribed it before, and behind each table", async () => {
    call("subscribe", "a");
    await settle();
    expect(told, "the client has asked for nothing").to.deep.equal([]);
    reconciler.want(Channel, Buffer.from("a"));
    expect(told).to.deep.equal([]);
    await home.pass(1);
    expect(told).to.deep.equal([["settled"]]);
    reconciler.onTopology();
    expect(told).to.deep.equal([["settled"], ["settled"]]);
  });

  it("says that a name is subscribed only once a node is known", async () => {
    const known = nodes.splice(0);
    reconciler.want(Channel, Buffer.from("a"));
    await home.pass(LONG_MS);
    expect(told).to.deep.equal([]);
    nodes.push(...known);
    await home.pass(LONG_MS);
    await settle();
    expect(told).to.deep.equal([["settled"]]);
  });

  it("does not wait for a node that it pauses at when something else is to be done", async () => {
    nodes.length = 1;
    call("subscribe", "a");
    connections[0]?.end();
    await home.pass(1);
    expect(connections, "it pauses").to.have.length(1);
    nodes.unshift(new home.modules.ClusterNode({ host: "h", port: 3 }));
    reconciler.onNodeGone(nodes[1] as ClusterNode);
    reconciler.want(Channel, Buffer.from("b"));
    await home.pass(LONG_MS);
    reconciler.stop(false);
    await marks();
    expect(home.time.pending, "timers").to.equal(0);
  });

  it("subscribes a name again that is wanted before its end is confirmed", async () => {
    const name = Buffer.from("a");
    reconciler.want(Channel, name);
    await settle();
    reconciler.unwant(Channel, name);
    await home.pass(1);
    expect(connections[0]?.names(Channel)).to.deep.equal([]);
    reconciler.want(Channel, name);
    await home.pass(1);
    expect(connections.map(asked)).to.deep.equal([["unsubscribe a", "subscribe a"]]);
    await settle();
    expect(connections[0]?.names(Channel)).to.deep.equal(["a"]);
  });

  it("reports messages that were missed since the server ended a subscription", async () => {
    const first = await subscribed();
    endAt(first);
    await home.pass(40);
    slots.move(slotOfKey("{a}1"), nodes[1] as ClusterNode);
    reconciler.onTopology();
    await settle();
    expect(gaps.map(({ shardChannels }) => shardChannels)).to.deep.equal([["{a}1"]]);
    expect(gaps[0]?.lastedMs).to.be.within(40, 100);
  });

  it("answers the end of all subscriptions with 0", async () => {
    spread();
    const replies: unknown[] = [];
    const { Command: Made, specOf } = home.modules;
    const completion = {
      fulfil: (_: Command, reply: unknown) => void replies.push(reply),
      reject() {},
    };
    reconciler.dispatch(new Made(specOf("sunsubscribe"), [], false, completion));
    expect(replies).to.deep.equal([0]);
  });

  it("reports errors of its connections with their nodes, and no other events", () => {
    call("subscribe", "a");
    connections[0]?.report("error", new Error("ECONNREFUSED"));
    connections[0]?.report("sentinelError", new Error("of something else"));
    expect(told).to.deep.equal([["error", "ECONNREFUSED", nodes[0]?.key]]);
  });

  it("connects once with each connection, and reports when one is opened and closed", async () => {
    call("subscribe", "a");
    expect(connections.map(({ connects }) => connects)).to.deep.equal([1]);
    expect(opened).to.deep.equal(["opened"]);
    connections[0]?.end();
    expect(opened).to.deep.equal(["opened", "closed"]);
    await home.pass(LONG_MS);
    expect(connections.map(({ connects }) => connects)).to.deep.equal([1, 1]);
  });

  it("asks the present node for what a former connection has confirmed late", async () => {
    call("subscribe", "a");
    const [first] = connections as [ModelSubscriber];
    first.open();
    reconciler.stop(false);
    reconciler.start();
    expect(first.isLeaving).to.equal(true);
    first.answer();
    await home.pass(1);
    expect(connections.slice(1).map(asked)).to.deep.equal([["subscribe a"]]);
    await settle();
  });
});
