/**
 * A blocking command on a connection of its own that is sent elsewhere: the connection serves
 * others, and the command itself if it comes back.
 */

import { expect } from "chai";
import type { Cluster } from "../../src/index";
import { FakeClusterFixture, KEY, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { NO_REPLY } from "../support/fake-server";

describe("cluster: blocking commands over extra connections", () => {
  const fixture = new FakeClusterFixture().install();
  let cluster: Cluster;
  beforeEach(() => {
    cluster = fixture.connect({ redisOptions: { blockingConnections: 1 } });
  });

  it("come back to a node that sent them away", async () => {
    let isFirst = true;
    fixture.fake.node(OWNER).script = ([name]) => {
      if (name !== "blpop") return undefined;
      if (!isFirst) return [KEY, "value"];
      isFirst = false;
      return new Error(`MOVED ${SLOT} ${fixture.fake.node(OTHER).key}`);
    };
    fixture.fake.node(OTHER).script = ([name]) =>
      name === "blpop" ? new Error(`MOVED ${SLOT} ${fixture.fake.node(OWNER).key}`) : undefined;
    expect(await cluster.blpop(KEY, 0)).to.deep.equal([KEY, "value"]);
  });

  it("go again when their connection is lost", async () => {
    let isFirst = true;
    fixture.fake.node(OWNER).script = ([name], { socket }) => {
      if (name !== "blpop") return undefined;
      if (!isFirst) return [KEY, "value"];
      isFirst = false;
      socket.destroy();
      return NO_REPLY;
    };
    expect(await cluster.blpop(KEY, 0)).to.deep.equal([KEY, "value"]);
  });

  it("that wait for a connection go elsewhere with their node", async () => {
    const [owner, other] = [fixture.fake.node(OWNER), fixture.fake.node(OTHER)];
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
    fixture.fake.slots = () => [[0, 16383, [other.server.host, other.server.port, "id"]]];
    await cluster.refreshSlotsCache();
    expect(await Promise.all(both)).to.deep.equal([
      [KEY, "elsewhere"],
      [KEY, "elsewhere"],
    ]);
  });
});
