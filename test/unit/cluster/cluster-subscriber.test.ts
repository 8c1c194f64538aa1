/** The connection for channels, without a server: which of several connections counts, and when a gap is over. */

import { expect } from "chai";
import { waitUntil } from "../../../scripts/servers/wait-until";
import { ClusterNode } from "../../../src/cluster/cluster-node";
import {
  ClusterSubscriber,
  type SubscriberClient,
  type SubscriberWatcher,
} from "../../../src/cluster/cluster-subscriber";
import { Command } from "../../../src/command/command";
import { specOf } from "../../../src/command/command-table";
import { SubscriptionKind, Subscriptions } from "../../../src/connection/subscriptions";
import { Ending } from "../../support/ending";

const TEXT = { protocol: 2, replyMapping: "legacy" } as const;
const { Channel } = SubscriptionKind;

/** One connection for subscriptions; its server confirms when it is told to. */
class ModelConnection {
  given: Command[] = [];
  readonly subscriptions = new Subscriptions();
  status = "connecting";
  readonly client: SubscriberClient;

  constructor(
    readonly node: ClusterNode,
    readonly watcher: SubscriberWatcher,
  ) {
    const self = this;
    const link = {
      subscriptions: this.subscriptions,
      options: { autoResubscribe: true },
      connection: { destroy: () => this.end() },
      get status() {
        return self.status;
      },
      connect: () => Promise.resolve(),
      disconnect: () => {},
    };
    const dispatch = (command: Command): void => void this.given.push(command);
    this.client = { link, dispatch, dispatchBatch: () => {} } as unknown as SubscriberClient;
  }

  open(): void {
    if (this.status !== "connecting") return;
    this.status = "ready";
    this.watcher.onReady();
  }

  confirm(): boolean {
    const command = this.status === "ready" ? this.given.shift() : undefined;
    if (command === undefined) return false;
    if (command.isSettled) return true;
    for (const arg of command.args) {
      if (command.spec.lowerName === "subscribe") this.subscriptions.add(Channel, Buffer.from(arg));
      else this.subscriptions.delete(Channel, Buffer.from(arg));
    }
    command.fulfil(1, TEXT);
    return true;
  }

  end(): void {
    if (this.status === "end") return;
    this.status = "end";
    const left = this.given.splice(0).filter((one) => !one.isSettled);
    this.watcher.onEnded();
    this.watcher.onOrphans(left);
  }
}

describe("the connection for channels of a cluster", () => {
  const nodes = [1, 2, 3].map((n) => new ClusterNode({ host: "h", port: n }));
  const connections: ModelConnection[] = [];
  const gaps: string[][] = [];
  const subscriber = new ClusterSubscriber({
    open: (node, watcher) => {
      const made = new ModelConnection(node, watcher);
      connections.push(made);
      return made.client;
    },
    choose: (instead) => nodes.find((node) => node !== instead) ?? null,
    onMisplaced: () => false,
    onRefused: () => {},
    onGap: (gap) => gaps.push(gap.channels),
  });

  after(() => subscriber.stop(true));

  it("has one present connection, and tells of a gap once what was lost is confirmed there", async () => {
    subscriber.start();
    const ending = new Ending();
    subscriber.dispatch(new Command(specOf("subscribe"), ["a"], false, ending));
    const [first] = connections;
    first?.open();
    first?.confirm();
    expect(ending.times).to.equal(1);
    expect(first?.watcher.isCurrent).to.equal(true);
    subscriber.onNodeGone((first as ModelConnection).node);
    // What the old connection still hears is heard on the next one too, and must not be handed on twice.
    expect(first?.watcher.isCurrent).to.equal(false);
    await waitUntil(() => Promise.resolve(connections.length === 2), {
      timeoutMs: 5000,
      what: "the next connection",
    });
    const [, second] = connections;
    expect([first, second].map((one) => one?.watcher.isCurrent)).to.deep.equal([false, true]);
    second?.open();
    expect(gaps).to.deep.equal([]);
    while (second?.confirm());
    expect(gaps).to.deep.equal([["a"]]);
  });
});
