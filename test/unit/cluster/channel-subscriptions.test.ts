/** The connection for channels, without a server: which of several connections counts, and when a gap is over. */

import { expect } from "chai";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { ClusterNode } from "../../../src/cluster/cluster-node";
import { AnyNode } from "../../../src/cluster/subscription-placement";
import { SubscriptionReconciler } from "../../../src/cluster/subscription-reconciler";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { Ending } from "../../support/ending";
import { DEAF, IDLE_MODULES, ModelSubscriber } from "../../support/model-subscriber";

describe("the connection for channels of a cluster", () => {
  const nodes = [1, 2, 3].map((n) => new ClusterNode({ host: "h", port: n }));
  const connections: ModelSubscriber[] = [];
  const gaps: string[][] = [];
  const placement = new AnyNode((instead) => nodes.find((node) => node !== instead) ?? null);
  const subscriber = new SubscriptionReconciler(placement, IDLE_MODULES, {
    ...DEAF,
    open: (node, supervisor) => {
      const made = new ModelSubscriber(node, supervisor);
      connections.push(made);
      return made.client;
    },
    onGap: (gap) => gaps.push(gap.channels),
  });

  after(() => subscriber.stop(true));

  it("has one present connection, and tells of a gap once what was lost is confirmed there", async () => {
    subscriber.start();
    const ending = new Ending();
    subscriber.dispatch(new Command(specOf("subscribe"), ["a"], false, ending));
    const [first] = connections;
    first?.open();
    first?.answer();
    expect(ending.times).to.equal(1);
    expect(first?.isCurrent).to.equal(true);
    subscriber.onNodeGone((first as ModelSubscriber).node);
    // Messages that the old connection still hears are heard on the next one too, and must not be handed on twice.
    expect(first?.isCurrent).to.equal(false);
    await waitUntil(() => Promise.resolve(connections.length === 2), {
      timeoutMs: 5000,
      what: "the next connection",
    });
    const [, second] = connections;
    expect([first, second].map((one) => one?.isCurrent)).to.deep.equal([false, true]);
    second?.open();
    expect(gaps).to.deep.equal([]);
    while (second?.answer());
    expect(gaps).to.deep.equal([["a"]]);
  });

  it("fails a call that waits for a connection when the cluster is closed for good", () => {
    const made: ModelSubscriber[] = [];
    const closing = new SubscriptionReconciler(new AnyNode(() => nodes[0] ?? null), IDLE_MODULES, {
      ...DEAF,
      open: (node, supervisor) => {
        made.push(new ModelSubscriber(node, supervisor));
        return (made.at(-1) as ModelSubscriber).client;
      },
    });
    closing.start();
    const ending = new Ending();
    closing.dispatch(new Command(specOf("subscribe"), ["a"], false, ending));
    made[0]?.end();
    closing.stop(false);
    expect(ending.times, "it may open again").to.equal(0);
    closing.stop(true);
    expect([ending.times, made.length]).to.deep.equal([1, 1]);
  });
});
