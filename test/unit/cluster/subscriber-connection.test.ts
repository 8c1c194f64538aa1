/** One connection for subscriptions of a cluster: after how many checks a silent node counts as silent. */

import { expect } from "chai";
import { ClusterNode } from "../../../src/cluster/cluster-node";
import {
  keyOf,
  type SubscriberClient,
  SubscriberConnection,
} from "../../../src/cluster/subscriber-connection";
import type { Command } from "../../../src/command/command";
import { SubscriptionKind } from "../../../src/connection/subscriptions";
import { clockMs } from "../../../src/util/scheduling";

describe("a connection for subscriptions", () => {
  let link: { status: string; connection: { bytesRead: number } | null };
  let sent: string[];
  let connection: SubscriberConnection;

  beforeEach(() => {
    link = { status: "ready", connection: { bytesRead: 10 } };
    sent = [];
    const dispatch = (command: Command): void => void sent.push(command.name);
    connection = new SubscriberConnection(
      new ClusterNode({ host: "h", port: 1 }),
      () => ({ link, dispatch }) as unknown as SubscriberClient,
    );
  });

  /** The checks until the node counts as silent; at most ten. */
  function checksUntilSilent(beforeCheck: () => void = () => {}): number {
    for (let checks = 1; checks <= 10; checks++) {
      beforeCheck();
      connection.check();
      if (connection.isSilent) return checks;
    }
    return Number.POSITIVE_INFINITY;
  }

  it("sends one PING to a node that sends nothing, before it counts as silent", () => {
    const checks = checksUntilSilent(() => {
      if (sent.length === 0) expect(connection.isSilent).to.equal(false);
    });
    expect(checks).to.be.below(10);
    expect(sent).to.deep.equal(["ping"]);
    expect(connection.isForsaken, "it may be busy for a while").to.equal(false);
    for (let i = 0; i < 10; i++) connection.check();
    expect(connection.isForsaken).to.equal(true);
    expect(sent).to.deep.equal(["ping"]);
  });

  it("counts a node as alive while bytes arrive, and anew after the last one", () => {
    const live = link.connection as { bytesRead: number };
    const checks = checksUntilSilent();
    live.bytesRead++;
    expect(checksUntilSilent(), "from the last byte on").to.equal(checks);
    sent.length = 0;
    expect(checksUntilSilent(() => void live.bytesRead++)).to.equal(Number.POSITIVE_INFINITY);
    expect(sent).to.deep.equal([]);
    expect(checksUntilSilent()).to.be.below(10);
    live.bytesRead++;
    connection.check();
    expect(connection.isSilent).to.equal(false);
  });

  it("does not doubt a node that is being reconnected", () => {
    link.status = "reconnecting";
    expect(checksUntilSilent()).to.equal(Number.POSITIVE_INFINITY);
    link.connection = null;
    expect(checksUntilSilent()).to.equal(Number.POSITIVE_INFINITY);
    expect(sent).to.deep.equal([]);
  });

  it("remembers for a while which names were confirmed or ended", () => {
    const [kind, name] = [SubscriptionKind.Shard, Buffer.from("a")] as const;
    expect(connection.isRecent(kind, name), "never").to.equal(false);
    connection.noteChange(kind, name);
    expect(connection.isRecent(kind, name)).to.equal(true);
    expect(connection.isRecent(SubscriptionKind.Channel, name), "another kind").to.equal(false);
    connection.changedAtMs.set(keyOf(kind, name), clockMs() - 60_000);
    expect(connection.isRecent(kind, name)).to.equal(false);
  });
});
