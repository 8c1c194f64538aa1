/**
 * A blocking command on a connection of its own that is sent elsewhere: the connection serves
 * others, and the command itself if it comes back.
 */

import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { Cluster } from "../../src/index";
import { closeCluster } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";
import { NO_REPLY } from "../support/fake-server";

const KEY = "foo";
const SLOT = calculateSlot(KEY);
/** Of two nodes with half of the slots each, the second serves it. */
const OWNER = 1;
const OTHER = 0;

describe("cluster: blocking commands over extra connections", () => {
  let fake: FakeCluster;
  let cluster: Cluster;

  beforeEach(async () => {
    fake = await FakeCluster.start(2);
    cluster = new Cluster(fake.seeds, { redisOptions: { blockingConnections: 1 } });
    cluster.on("error", () => {});
  });
  afterEach(async () => {
    await closeCluster(cluster);
    await fake.stop();
  });

  it("come back to a node that sent them away", async () => {
    let isFirst = true;
    fake.node(OWNER).script = ([name]) => {
      if (name !== "blpop") return undefined;
      if (!isFirst) return [KEY, "value"];
      isFirst = false;
      return new Error(`MOVED ${SLOT} ${fake.node(OTHER).key}`);
    };
    fake.node(OTHER).script = ([name]) =>
      name === "blpop" ? new Error(`MOVED ${SLOT} ${fake.node(OWNER).key}`) : undefined;
    expect(await cluster.blpop(KEY, 0)).to.deep.equal([KEY, "value"]);
  });

  it("go again when their connection is lost", async () => {
    let isFirst = true;
    fake.node(OWNER).script = ([name], { socket }) => {
      if (name !== "blpop") return undefined;
      if (!isFirst) return [KEY, "value"];
      isFirst = false;
      socket.destroy();
      return NO_REPLY;
    };
    expect(await cluster.blpop(KEY, 0)).to.deep.equal([KEY, "value"]);
  });

  it("that wait for a connection go elsewhere with their node", async () => {
    const [owner, other] = [fake.node(OWNER), fake.node(OTHER)];
    const arrived = new Promise<void>((resolve) => {
      owner.script = ([name]) => {
        if (name !== "blpop") return undefined;
        resolve();
        return NO_REPLY;
      };
    });
    other.script = ([name, key = ""]) => (name === "blpop" ? [key, "elsewhere"] : undefined);
    await cluster.set(KEY, 1);
    const both = [cluster.blpop(KEY, 0), cluster.blpop(KEY, 0)];
    await arrived;
    fake.slots = () => [[0, 16383, [other.server.host, other.server.port, "id"]]];
    await cluster.refreshSlotsCache();
    expect(await Promise.all(both)).to.deep.equal([
      [KEY, "elsewhere"],
      [KEY, "elsewhere"],
    ]);
  });
});
