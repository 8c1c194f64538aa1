/**
 * A transaction on a cluster that is redirected more than once, or loses its connection on the
 * way: every command of every run settles, and nothing is refused that cannot have run.
 */

import { expect } from "chai";
import type { Cluster } from "../../src/index";
import { closeCluster } from "../support/cluster-fixture";
import type { FakeNode } from "../support/fake-cluster";
import { FakeClusterFixture, OTHER, OWNER, SLOT } from "../support/fake-cluster-fixture";
import { type FakeReply, NO_REPLY, RawReply, status } from "../support/fake-server";
import { assertNothingLeft } from "../support/leak-check";

const DISCARDED = new Error("EXECABORT Transaction discarded because of previous errors.");

describe("cluster: a transaction that does not succeed at once", () => {
  const fixture = new FakeClusterFixture().install();
  let cluster: Cluster;
  beforeEach(() => {
    cluster = fixture.connect();
  });

  function movedTo(node: FakeNode): Error {
    return new Error(`MOVED ${SLOT} ${node.key}`);
  }

  /** Answers like a server; `runs` tells what becomes of each transaction, the first one first. */
  function serve(node: FakeNode, runs: { member: FakeReply; exec: FakeReply }[]): void {
    let run = runs[0];
    node.script = ([name = ""]) => {
      if (name === "multi") {
        run = runs.shift() ?? run;
        return status("OK");
      }
      if (name === "incr") return run?.member;
      return name === "exec" ? run?.exec : undefined;
    };
  }

  it("is redirected at EXEC, then at its members, and leaves no command behind", async () => {
    const [owner, other] = [fixture.fake.node(OWNER), fixture.fake.node(OTHER)];
    serve(owner, [
      { member: status("QUEUED"), exec: movedTo(other) },
      { member: status("QUEUED"), exec: [1, 2] },
    ]);
    serve(other, [{ member: movedTo(owner), exec: DISCARDED }]);
    const rows = await cluster.multi().incr("foo").incr("foo").exec();
    expect(rows).to.deep.equal([
      [null, 1],
      [null, 2],
    ]);
    expect([owner, other].map((node) => node.received("exec").length)).to.deep.equal([2, 1]);
    await closeCluster(cluster);
    await fixture.fake.stop();
    await assertNothingLeft();
  });

  it("was redirected at its members and goes elsewhere when EXEC is never answered", async () => {
    const [owner, other] = [fixture.fake.node(OWNER), fixture.fake.node(OTHER)];
    serve(other, [{ member: status("QUEUED"), exec: [1, 2] }]);
    owner.script = ([name], { socket }) => {
      if (name === "multi") return status("OK");
      if (name === "incr") return movedTo(other);
      if (name !== "exec") return undefined;
      fixture.fake.slots = () => [[0, 16383, [other.server.host, other.server.port, "id"]]];
      socket.destroy();
      return new RawReply("");
    };
    const rows = await cluster.multi().incr("foo").incr("foo").exec();
    expect(rows).to.deep.equal([
      [null, 1],
      [null, 2],
    ]);
    expect(other.received("exec")).to.have.length(1);
  });

  it("waited for admission at a node that left, and runs once elsewhere", async () => {
    await closeCluster(cluster);
    cluster = fixture.connect({ redisOptions: { bounds: { maxCommands: 12 } } });
    const [owner, other] = [fixture.fake.node(OWNER), fixture.fake.node(OTHER)];
    serve(other, [{ member: status("QUEUED"), exec: [1, 2] }]);
    const arrived = new Promise<void>((resolve) => {
      let isSilent = false;
      owner.script = ([name]) => {
        isSilent ||= name === "get";
        if (isSilent) resolve();
        return isSilent ? NO_REPLY : undefined;
      };
    });
    const values = Array.from({ length: 10 }, () => cluster.get("foo"));
    const rows = cluster.multi().incr("foo").incr("foo").exec();
    await arrived;
    fixture.fake.slots = () => [[0, 16383, [other.server.host, other.server.port, "id"]]];
    await cluster.refreshSlotsCache();
    expect(new Set(await Promise.all(values))).to.deep.equal(new Set([null]));
    expect(await rows).to.deep.equal([
      [null, 1],
      [null, 2],
    ]);
    await cluster.get("foo");
    expect(["multi", "incr", "exec"].map((name) => other.received(name).length)).to.deep.equal([1, 2, 1]);
  });
});
