/**
 * HIMPORT on a cluster of scripted nodes: no server at hand has the command. What is announced
 * belongs to a connection, so announcements go to every master.
 */

import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { untilClusterReady } from "../support/cluster-fixture";
import { FakeClusterFixture, KEY } from "../support/fake-cluster-fixture";
import { type FakeReply, NO_REPLY, status } from "../support/fake-server";

const fixture = new FakeClusterFixture();

/** The HIMPORTs that each node was sent. */
function said(): string[][] {
  return fixture.fake.nodes.map((node) => node.received("himport").map((words) => words.slice(1).join(" ")));
}

function answerWith(replies: readonly FakeReply[]): void {
  for (const [i, node] of fixture.fake.nodes.entries()) {
    node.script = ([name = ""]) => (name.toLowerCase() === "himport" ? replies[i] : undefined);
  }
}

async function connect(): Promise<Cluster> {
  const cluster = fixture.connect();
  await untilClusterReady(cluster);
  return cluster;
}

describe("cluster: HIMPORT", () => {
  fixture.install();

  const FORMS = [
    ["PREPARE", "users", "name", "mail"],
    ["DISCARD", "users"],
    ["DISCARDALL"],
    ["prepare", "users", "name"],
  ] as const;
  for (const words of FORMS) {
    it(`${words[0]} reaches every master and resolves with the first reply`, async () => {
      answerWith([status("first"), status("second")]);
      const cluster = await connect();
      expect(await cluster.call("himport", ...words)).to.equal("first");
      expect(said()).to.deep.equal([[words.join(" ")], [words.join(" ")]]);
    });
  }

  it("resolves once all have answered", async () => {
    let answerSecond: (() => void) | null = null;
    const [first, second] = fixture.fake.nodes;
    if (first === undefined || second === undefined) throw new Error("There are two nodes");
    first.script = ([name]) => (name === "himport" ? 1 : undefined);
    second.script = ([name], connection) => {
      if (name !== "himport") return undefined;
      answerSecond = () => connection.socket.write(":0\r\n");
      return NO_REPLY;
    };
    const cluster = await connect();
    let isSettled = false;
    const answer = cluster.himport("DISCARD", "users").then((value) => {
      isSettled = true;
      return value;
    });
    await waitUntil(() => Promise.resolve(answerSecond !== null), { timeoutMs: 5000, what: "both nodes" });
    // A key of the first node: what it has answered before has arrived.
    await cluster.get("b");
    expect(isSettled).to.equal(false);
    (answerSecond as unknown as () => void)();
    expect(await answer).to.equal(1);
  });

  it("rejects with the first error once all have answered", async () => {
    answerWith([new Error("ERR one"), new Error("ERR two")]);
    const cluster = await connect();
    const error = await cluster.himport("PREPARE", "users", "name").catch((reason: Error) => reason);
    expect((error as Error).message).to.equal("ERR one");
    expect(said().map(({ length }) => length)).to.deep.equal([1, 1]);
  });

  it("waits for the cluster like any other command, and goes to every master then", async () => {
    answerWith([status("OK"), status("OK")]);
    const cluster = fixture.connect();
    expect(await cluster.himport("PREPARE", "users", "name")).to.equal("OK");
    expect(said()).to.deep.equal([["PREPARE users name"], ["PREPARE users name"]]);
  });

  it("SET goes to the owner of its key, and a member of a pipeline to one node", async () => {
    answerWith([status("OK"), status("OK")]);
    const cluster = await connect();
    await cluster.himport("SET", KEY, "users", "a");
    expect(said()).to.deep.equal([[], [`SET ${KEY} users a`]]);
    await cluster.pipeline().himport("PREPARE", "logs", "line").set(KEY, "v").exec();
    expect(said()).to.deep.equal([[], [`SET ${KEY} users a`, "PREPARE logs line"]]);
  });
});
