/**
 * The commands of one slot run in the order of the calls, whatever way they are redirected: while
 * automatic batches of the old owner are gathered or in flight, and when the slot moves twice.
 * On scripted nodes that say MOVED when the test wants them to.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FakeCluster, type FakeNode } from "../support/fake-cluster";
import { encodeReply, type FakeReply, NO_REPLY, status } from "../support/fake-server";

const KEY = "foo";
const SLOT = calculateSlot(KEY);

describe("cluster: order of a slot through redirects", () => {
  const clients = new ClusterFixture();
  let fake: FakeCluster;
  /** The commands that the nodes have run, in order. */
  const run: string[] = [];
  const services = new Map<number, object>();

  beforeEach(async () => {
    run.length = 0;
    services.clear();
    fake = await FakeCluster.start(3);
    // The table is out of date all the time: it names the first node for the slot.
    const shares: [number, number][] = [
      [0, 16_381],
      [16_382, 16_382],
      [16_383, 16_383],
    ];
    const table = shares.map(([from, to], i) => [
      from,
      to,
      [node(i).server.host, node(i).server.port, `id${i}`],
    ]);
    fake.slots = () => table;
    for (const index of [0, 1, 2]) runs(index);
  });

  afterEach(async () => {
    await clients.closeClients();
    await fake.stop();
  });

  const node = (index: number): FakeNode => fake.node(index);

  const moved = (index: number): FakeReply => new Error(`MOVED ${SLOT} ${node(index).key}`);

  const asked = (index: number): FakeReply => new Error(`ASK ${SLOT} ${node(index).key}`);

  function isUsers([name = ""]: readonly string[]): boolean {
    return name === "set" || name === "get" || name === "append";
  }

  /** Lets a node serve commands one after the other; each is decided about when its turn has come. */
  function serves(
    index: number,
    decide: (count: number) => FakeReply | null,
    delayMs: (count: number) => number,
  ): void {
    const service = services.get(index);
    if (service !== undefined) {
      Object.assign(service, { decide, delayMs, count: 0 });
      return;
    }
    const made = { decide, delayMs, count: 0, turn: Promise.resolve() };
    services.set(index, made);
    node(index).script = (words, { socket }) => {
      if (words[0] === "cluster") {
        const isTable = words[1]?.toLowerCase() === "slots";
        const reply = encodeReply(isTable ? fake.slots() : "cluster_state:ok\r\n");
        made.turn = made.turn.then(() => void socket.write(reply));
        return NO_REPLY;
      }
      if (!isUsers(words)) return undefined;
      made.turn = made.turn.then(async () => {
        const delay = made.delayMs(made.count);
        if (delay > 0) await sleep(delay);
        const reply = made.decide(made.count++);
        if (reply === null) run.push(words.at(-1) ?? "");
        socket.write(encodeReply(reply ?? status("OK")));
      });
      return NO_REPLY;
    };
  }

  /** The node runs commands. */
  const runs = (index: number): void =>
    serves(
      index,
      () => null,
      () => 0,
    );

  /** The node says MOVED to the node that `targets` names for each command; later ones by its last entry. */
  const sendsAway = (
    index: number,
    targets: readonly number[],
    delayMs: (count: number) => number = () => 0,
  ): void => serves(index, (count) => moved(targets[Math.min(count, targets.length - 1)] as number), delayMs);

  async function connect(options = {}): Promise<Cluster> {
    const cluster = clients.connectTo(
      [node(0).server].map(({ host, port }) => ({ host, port })),
      options,
    );
    await untilClusterReady(cluster);
    return cluster;
  }

  /** Issues numbered commands, one in each turn, and returns what ran. */
  async function issue(cluster: Cluster, count: number, pauseMs: (n: number) => number): Promise<string[]> {
    const calls: Promise<unknown>[] = [];
    for (let n = 0; n < count; n++) {
      calls.push(cluster.set(KEY, `${n}`));
      const ms = pauseMs(n);
      if (ms >= 0) await new Promise((resolve) => setTimeout(resolve, ms));
    }
    await Promise.all(calls);
    return run;
  }

  const inOrder = (count: number): string[] => Array.from({ length: count }, (_, n) => `${n}`);

  it("an automatic batch that is gathered while another one is answered", async () => {
    const cluster = await connect({ enableAutoPipelining: true });
    await cluster.set("other", "x");
    run.length = 0;
    sendsAway(0, [1], (count) => (count < 2 ? 20 : 60));
    // Two in flight, one gathered behind them, and later ones while that is under way.
    const ran = await issue(cluster, 12, (n) => (n === 0 ? -1 : 10));
    expect(ran).to.deep.equal(inOrder(12));
  });

  it("automatic batches on one and pipelines between them", async () => {
    const cluster = await connect({ enableAutoPipelining: true });
    sendsAway(0, [1], (count) => 5 + (count % 3) * 10);
    const calls: Promise<unknown>[] = [];
    for (let n = 0; n < 24; n++) {
      if (n % 4 === 3) calls.push(cluster.pipeline().set(KEY, `${n}`).exec());
      else calls.push(cluster.set(KEY, `${n}`));
      if (n % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 7));
    }
    await Promise.all(calls);
    expect(run).to.deep.equal(inOrder(24));
  });

  it("a slot that moves twice: the second node sends on", async () => {
    const cluster = await connect();
    sendsAway(0, [1], () => 20);
    sendsAway(1, [2], () => 25);
    const ran = await issue(cluster, 16, (n) => (n < 4 ? -1 : 9));
    expect(ran).to.deep.equal(inOrder(16));
  });

  it("a slot that moves twice: the first node tells the second move itself", async () => {
    const cluster = await connect();
    sendsAway(0, [1, 2], () => 15);
    sendsAway(1, [2], () => 90);
    const ran = await issue(cluster, 16, (n) => (n < 5 ? -1 : 9));
    expect(ran).to.deep.equal(inOrder(16));
  });

  it("a slot that moves twice under auto-pipelining", async () => {
    const cluster = await connect({ enableAutoPipelining: true });
    sendsAway(0, [1, 1, 2], () => 15);
    sendsAway(1, [2], () => 40);
    const ran = await issue(cluster, 24, (n) => (n % 3 === 0 ? 6 : -1));
    expect(ran).to.deep.equal(inOrder(24));
  });

  it("a command that was asked elsewhere and sent on from there, and a later one that was told so at once", async () => {
    const cluster = await connect();
    serves(
      0,
      (count) => (count === 0 ? asked(1) : moved(2)),
      () => 15,
    );
    sendsAway(1, [2], () => 60);
    const ran = await issue(cluster, 12, (n) => (n < 3 ? -1 : 9));
    expect(ran).to.deep.equal(inOrder(12));
  });

  it("a transaction that was asked elsewhere, and commands behind it", async () => {
    const cluster = await connect();
    serves(
      0,
      (count) => (count < 2 ? asked(1) : moved(2)),
      () => 15,
    );
    sendsAway(1, [2], () => 40);
    const transaction = cluster.multi().set(KEY, "0").set(KEY, "1").exec();
    const later = [cluster.set(KEY, "2"), cluster.pipeline().set(KEY, "3").set(KEY, "4").exec()];
    await Promise.all([transaction, ...later]);
    expect(run).to.deep.equal(inOrder(5));
  });

  /** The owner of the slot refuses so many commands and serves later ones. The other nodes name it. */
  function isDownFor(refusals: number, delayMs: number): void {
    let left = refusals;
    serves(
      0,
      () => (left-- > 0 ? new Error("CLUSTERDOWN The cluster is down") : null),
      () => delayMs,
    );
    sendsAway(1, [0]);
    sendsAway(2, [0]);
  }

  it("an owner that refuses the first of the commands that have waited, and serves the second", async () => {
    const cluster = await connect();
    isDownFor(5, 0);
    const ran = await issue(cluster, 12, (n) => (n < 3 ? -1 : 5));
    expect(ran).to.deep.equal(inOrder(12));
  });

  it("an owner that refuses a command that has waited, and serves a new one", async () => {
    const cluster = await connect();
    isDownFor(2, 30);
    const first = cluster.set(KEY, "0");
    await waitUntil(() => Promise.resolve(node(0).received("set").length === 2), {
      timeoutMs: 2000,
      what: "the second attempt",
    });
    await Promise.all([first, cluster.set(KEY, "1"), cluster.set(KEY, "2")]);
    expect(run).to.deep.equal(inOrder(3));
  });

  it("moves do not hold a slot up for good: the owner is learnt", async () => {
    const cluster = await connect();
    sendsAway(0, [1]);
    sendsAway(1, [2]);
    await issue(cluster, 3, () => -1);
    await waitUntil(() => Promise.resolve(cluster.slots[SLOT]?.[0] !== undefined), {
      timeoutMs: 1000,
      what: "an owner",
    });
    const startedAtMs = performance.now();
    for (let n = 0; n < 5; n++) await cluster.set(KEY, "x");
    expect(performance.now() - startedAtMs).to.be.lessThan(1500);
  });
});
