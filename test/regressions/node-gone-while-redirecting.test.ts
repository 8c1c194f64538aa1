/**
 * A redirect names a node that the cluster no longer lists: what was sent there settles, and the
 * connection to it does not stay.
 */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { waitUntil } from "../../scripts/servers/wait-until";
import { Cluster } from "../../src/index";
import { closeCluster, untilClusterReady } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";
import { NO_REPLY } from "../support/fake-server";

const KEY = "foo";
const SLOT = calculateSlot(KEY);
/** Of two nodes with half of the slots each, the second serves it. */
const OWNER = 1;

describe("cluster: a redirect to a node that leaves", () => {
  let fake: FakeCluster;
  let stranger: FakeCluster;
  const clients: Cluster[] = [];

  beforeEach(async () => {
    fake = await FakeCluster.start(2);
    await meetStranger();
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(closeCluster));
    await fake.stop();
    await stranger.stop();
  });

  /** A node that says of the cluster what the others say. */
  async function meetStranger(port = 0): Promise<void> {
    stranger = await FakeCluster.start(1, port);
    stranger.slots = () => fake.slots();
  }

  async function connect(enableAutoPipelining: boolean): Promise<Cluster> {
    const cluster = new Cluster(fake.seeds, { enableAutoPipelining });
    cluster.on("error", () => {});
    clients.push(cluster);
    await untilClusterReady(cluster);
    return cluster;
  }

  function redirect(word: string): void {
    const { key } = stranger.node(0);
    let left = 50;
    fake.node(OWNER).script = ([name]) =>
      name === "get" && left-- > 0 ? new Error(`${word} ${SLOT} ${key}`) : undefined;
    fake.node(OWNER).values.set(KEY, "at home");
  }

  for (const isAuto of [false, true]) {
    for (const word of ["MOVED", "ASK"]) {
      it(`${word}, never answered there${isAuto ? ", auto-pipelined" : ""}`, async () => {
        redirect(word);
        let isSilent = false;
        stranger.node(0).script = ([name]) => {
          isSilent ||= name === "get";
          return isSilent ? NO_REPLY : undefined;
        };
        const cluster = await connect(isAuto);
        const values = Promise.all(Array.from({ length: 50 }, () => cluster.get(KEY)));
        await waitUntil(() => Promise.resolve(stranger.node(0).received("get").length > 0), {
          timeoutMs: 5000,
          what: "the redirected commands",
        });
        await cluster.refreshSlotsCache();
        expect(new Set(await values)).to.deep.equal(new Set(["at home"]));
        expect(stranger.node(0).server.openConnections).to.equal(0);
        expect(cluster.nodes().map(({ options }) => options.port)).to.have.members(
          fake.nodes.map(({ server }) => server.port),
        );
      });
    }
  }

  it("that still owns slots nobody else is said to own", async () => {
    const cluster = await connect(false);
    const { server } = stranger.node(0);
    const [first, second] = fake.nodes.map(({ server: one }) => [one.host, one.port, "id"]);
    stranger.node(0).values.set(KEY, "kept");
    redirect("MOVED");
    expect(await cluster.get(KEY)).to.equal("kept");
    // The table has a hole where the slot is: it keeps the owner it had.
    const hole = [
      [0, 8191, first],
      [8192, SLOT - 1, second],
      [SLOT + 1, 16383, second],
    ];
    fake.slots = () => hole as never;
    await cluster.refreshSlotsCache();
    expect(await cluster.get(KEY)).to.equal("kept");
    // It cannot be reached for a while: the command waits, and goes when it is back.
    const { port } = server;
    await stranger.stop();
    const waiting = cluster.get(KEY);
    await new Promise((resolve) => cluster.once("node error", resolve));
    await meetStranger(port);
    stranger.node(0).values.set(KEY, "back");
    expect(await waiting).to.equal("back");
    fake.slots = () => hole.slice(0, 2).concat([[SLOT, 16383, second as never]]) as never;
    const isClosed = async (): Promise<boolean> => {
      // It may share the result of a refresh that began before.
      await cluster.refreshSlotsCache();
      return stranger.node(0).server.openConnections === 0;
    };
    await waitUntil(isClosed, { timeoutMs: 5000, what: "the connection to the node that left to close" });
  });
});
