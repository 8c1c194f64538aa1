/**
 * Subscriptions of a cluster client while slots move and connections are left, on scripted nodes
 * that confirm late, tell old tables, and move a slot without a word. In the end the wanted
 * channel is subscribed at the node that serves it, and `gap` comes behind that confirmation.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import type { Cluster } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import type { FakeNode } from "../support/fake-cluster";
import { KEY as CHANNEL, FakeClusterFixture, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { encodeReply, type FakeConnection, type FakeReply, NO_REPLY } from "../support/fake-server";

describe("cluster: subscriptions while slots move", () => {
  const fixture = new FakeClusterFixture().install();
  const owner = (): FakeNode => fixture.fake.node(OWNER);
  const other = (): FakeNode => fixture.fake.node(OTHER);
  const gaps: string[][] = [];
  /** The events at the nodes, in order. */
  const log: string[] = [];

  beforeEach(() => {
    gaps.length = 0;
    log.length = 0;
    for (const node of fixture.fake.nodes)
      node.script = (words, connection) => confirm(node, words, connection);
  });

  function confirm(
    node: FakeNode,
    [name = "", ...channels]: string[],
    connection: FakeConnection,
  ): FakeReply | undefined {
    if (!/^[ps]?(un)?subscribe$/.test(name)) return undefined;
    const isHome = node === owner() ? "owner" : "other";
    log.push(`${name} at ${isHome}`);
    for (const channel of channels) connection.socket.write(encodeReply([name, channel, 1]));
    return NO_REPLY;
  }

  function tableOf(master: FakeNode): FakeReply {
    return [[0, 16_383, [master.server.host, master.server.port, `id${master.server.port}`]]];
  }

  async function connect(options: ClusterOptions = {}): Promise<Cluster> {
    const cluster = fixture.connect({ shardedSubscribers: true, ...options });
    cluster.on("gap", ({ channels, shardChannels }) => {
      gaps.push([...channels, ...shardChannels]);
      log.push("gap");
    });
    await untilClusterReady(cluster);
    return cluster;
  }

  const until = (what: string, isSo: () => boolean): Promise<void> =>
    waitUntil(() => Promise.resolve(isSo()), { timeoutMs: 4000, what });

  it("a confirmation on a connection that was left does not count", async () => {
    const cluster = await connect();
    let confirmLate: (() => void) | null = null;
    owner().script = ([name = "", channel = ""], { socket }) => {
      if (name !== "ssubscribe") return undefined;
      confirmLate = () => socket.write(encodeReply([name, channel, 1]));
      return NO_REPLY;
    };
    const subscribed = cluster.ssubscribe(CHANNEL);
    await until("the SSUBSCRIBE", () => confirmLate !== null);
    fixture.fake.slots = () => tableOf(other());
    await cluster.refreshSlotsCache();
    (confirmLate as unknown as () => void)();
    await subscribed;
    await until("the subscription at the new owner", () => log.includes("ssubscribe at other"));
  }).timeout(6000);

  it("a subscription that goes under with its connection is made at the next owner, and gap comes behind it", async () => {
    const cluster = await connect();
    await cluster.ssubscribe(CHANNEL);
    let confirmLate: (() => void) | null = null;
    // The first one asked anew is asked at a node that loses the slot before it answers.
    owner().script = ([name = "", channel = ""], { socket }) => {
      if (name !== "ssubscribe") return undefined;
      confirmLate = () => socket.write(encodeReply([name, channel, 1]));
      return NO_REPLY;
    };
    owner().server.dropConnections();
    await until("the SSUBSCRIBE", () => confirmLate !== null);
    fixture.fake.slots = () => tableOf(other());
    await cluster.refreshSlotsCache();
    (confirmLate as unknown as () => void)();
    await until("the gap", () => gaps.length > 0);
    expect(log.slice(log.indexOf("ssubscribe at other"))).to.deep.equal(["ssubscribe at other", "gap"]);
    expect(gaps).to.deep.equal([[CHANNEL]]);
  }).timeout(6000);

  it("slow gossip: the old owner sends away while tables still name it", async () => {
    const cluster = await connect();
    const heard: string[] = [];
    cluster.on("smessage", (_channel, text) => heard.push(text));
    await cluster.ssubscribe(CHANNEL);
    const moved = new Error(`MOVED ${SLOT} ${other().key}`);
    owner().script = ([name]) => (name === "ssubscribe" ? moved : undefined);
    owner().server.broadcast(["sunsubscribe", CHANNEL, 0]);
    await until("the gap", () => gaps.length > 0);
    expect(log.slice(-2)).to.deep.equal(["ssubscribe at other", "gap"]);
    // The old table is told for a while: the channel is not given up for it each time.
    await sleep(2500);
    const askedCount = log.filter((line) => line === "ssubscribe at other").length;
    expect(askedCount, "subscribed anew because of an old table").to.be.at.most(4);
    other().server.broadcast(["smessage", CHANNEL, "still there"]);
    await until("the message", () => heard.includes("still there"));
  }).timeout(10_000);

  it("a slot that moves without a word to its subscribers, told by MOVED alone", async () => {
    const cluster = await connect();
    await cluster.ssubscribe(CHANNEL);
    const before = owner().script;
    owner().script = (words, connection) =>
      words[0] === "get" ? new Error(`MOVED ${SLOT} ${other().key}`) : before?.(words, connection);
    fixture.fake.slots = () => new Error("ERR unknown subcommand");
    await cluster.get(CHANNEL);
    await until("the subscription at the new owner", () => log.includes("ssubscribe at other"));
    await until("the gap", () => gaps.length > 0);
    expect(gaps).to.deep.equal([[CHANNEL]]);
  }).timeout(6000);

  it("moves are no failures: the tenth is followed as quickly as the first", async () => {
    const cluster = await connect();
    await cluster.ssubscribe(CHANNEL);
    for (let move = 0; move < 10; move++) {
      const [from, to] = move % 2 === 0 ? [owner(), other()] : [other(), owner()];
      fixture.fake.slots = () => tableOf(to);
      for (const node of fixture.fake.nodes) {
        node.script = (words, connection) =>
          words[0] === "ssubscribe" && node !== to
            ? new Error(`MOVED ${SLOT} ${to.key}`)
            : confirm(node, words, connection);
      }
      const startedAtMs = performance.now();
      from.server.broadcast(["sunsubscribe", CHANNEL, 0]);
      await until(`gap ${move + 1}`, () => gaps.length > move);
      expect(performance.now() - startedAtMs, `move ${move + 1}`).to.be.lessThan(1200);
    }
  }).timeout(20_000);

  it("what is no longer wanted is not subscribed again", async () => {
    const cluster = await connect();
    await cluster.ssubscribe(CHANNEL, `{${CHANNEL}}2`);
    expect(await cluster.sunsubscribe(CHANNEL)).to.be.a("number");
    log.length = 0;
    owner().server.dropConnections();
    await until("the gap", () => gaps.length > 0);
    expect(gaps).to.deep.equal([[`{${CHANNEL}}2`]]);
    expect(log).to.deep.equal(["ssubscribe at owner", "gap"]);
  }).timeout(6000);

  it("classic: gap comes behind the confirmations, not before", async () => {
    const cluster = await connect();
    await cluster.subscribe("news");
    let confirmLate: (() => void) | null = null;
    for (const node of fixture.fake.nodes) {
      node.script = ([name = "", channel = ""], { socket }) => {
        if (name !== "subscribe") return undefined;
        confirmLate = () => {
          log.push("confirmed");
          socket.write(encodeReply([name, channel, 1]));
        };
        return NO_REPLY;
      };
      node.server.dropConnections();
    }
    await until("the SUBSCRIBE", () => confirmLate !== null);
    await sleep(100);
    expect(gaps).to.deep.equal([]);
    (confirmLate as unknown as () => void)();
    await until("the gap", () => gaps.length > 0);
    expect(log.slice(-2)).to.deep.equal(["confirmed", "gap"]);
    expect(gaps).to.deep.equal([["news"]]);
  }).timeout(6000);

  it("classic: what is confirmed while the client reconnects is not forgotten", async () => {
    const cluster = await connect({ clusterRetryStrategy: () => 50 });
    await cluster.subscribe("news");
    let confirmLate: (() => void) | null = null;
    for (const node of fixture.fake.nodes) {
      node.script = ([name = "", channel = ""], { socket }) => {
        if (name !== "subscribe" || channel !== "late") return undefined;
        confirmLate = () => socket.write(encodeReply([name, channel, 2]));
        return NO_REPLY;
      };
    }
    const late = cluster.subscribe("late");
    await until("the SUBSCRIBE", () => confirmLate !== null);
    for (const node of fixture.fake.nodes) {
      node.script = (words, { socket }) => {
        if (words[0] !== "subscribe") return undefined;
        log.push(words.slice(1).sort().join(" "));
        for (const channel of words.slice(1)) socket.write(encodeReply(["subscribe", channel, 1]));
        return NO_REPLY;
      };
    }
    cluster.disconnect(true);
    (confirmLate as unknown as () => void)();
    await late;
    await until("both channels to be subscribed", () =>
      ["late", "news"].every((name) => log.join(" ").includes(name)),
    );
  }).timeout(6000);
});
