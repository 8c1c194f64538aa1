/**
 * A slot moves: its new owner gets nothing before the old one has answered what somebody waits
 * for, and does not wait for what callers have given up.
 */

import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import type { Cluster } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture, KEY, OTHER, OWNER } from "../support/fake-cluster-fixture";
import { NO_REPLY } from "../support/fake-server";
import { codeOf } from "../support/outcome";

const LAST_SLOT = 16_383;
const ANSWER_MS = 100;
/** The client's own limit is a second. */
const SOON_MS = 600;

describe("cluster: order behind what was given up", () => {
  const fixture = new FakeClusterFixture().install();
  let cluster: Cluster;
  beforeEach(async () => {
    cluster = fixture.connect({ slotsRefreshTimeout: 20 });
    await untilClusterReady(cluster);
  });

  /** From a command on that this is true for, the old owner says nothing. Gives its line. */
  function silence(begins: (name: string) => boolean): () => Socket {
    let line: Socket | undefined;
    fixture.fake.node(OWNER).script = ([name = ""], { socket }) => {
      if (begins(name)) line ??= socket;
      return socket === line ? NO_REPLY : undefined;
    };
    return () => line as Socket;
  }

  async function giveUp(): Promise<void> {
    expect(await codeOf(cluster.with({ timeout: 10 }).get(KEY))).to.equal("COMMAND_TIMEOUT");
  }

  async function moveSlots(): Promise<void> {
    const { server } = fixture.fake.node(OTHER);
    fixture.fake.slots = () => [[0, LAST_SLOT, [server.host, server.port, "id0"]]];
    await cluster.refreshSlotsCache();
  }

  it("a call that was given up is not waited for", async () => {
    silence((name) => name === "get");
    await giveUp();
    await moveSlots();
    const startMs = performance.now();
    expect(await cluster.set(KEY, "new")).to.equal("OK");
    expect(performance.now() - startMs).to.be.below(SOON_MS);
    expect(fixture.fake.node(OTHER).received("set")).to.have.length(1);
  });

  it("a call in front of it is", async () => {
    let sentMs = 0;
    const lineOf = silence((name) => name === "get");
    fixture.fake.node(OTHER).script = ([name]) => {
      if (name === "set") sentMs = performance.now();
      return undefined;
    };
    const first = cluster.get(KEY);
    await giveUp();
    await moveSlots();
    const startMs = performance.now();
    const second = cluster.set(KEY, "new");
    await sleep(ANSWER_MS);
    expect(sentMs).to.equal(0);
    lineOf().write("$3\r\nold\r\n");
    expect([await first, await second]).to.deep.equal(["old", "OK"]);
    expect(performance.now() - startMs).to.be.below(SOON_MS);
  });
});
