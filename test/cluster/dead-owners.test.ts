/**
 * Owners of slots that are gone while something hides it: a table that names them still, a user without the right to
 * read tables, a slot on its way to a node that restarts. Commands wait, and run once their slot is served.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { failureOf } from "../support/outcome";

const KEY = "{owned}:key";
const SLOT = calculateSlot(KEY);
/** Far below the time after which commands fail, far above that of a refresh. */
const SOON_MS = 5000;

async function untilReplaced(fixture: ClusterFixture, victim: ServerProcess): Promise<void> {
  const isReplaced = async (): Promise<boolean> => (await fixture.cluster.ownerOf(SLOT)) !== victim;
  await waitUntil(isReplaced, { timeoutMs: 30_000, what: "the replica to take over" });
}

async function timeOf(call: Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await call;
  return performance.now() - beganMs;
}

for (const kind of [ServerKind.Redis, ServerKind.Redis8, ServerKind.Valkey]) {
  describe(`cluster: dead owners, ${kind}`, () => {
    const fixture = new ClusterFixture(kind, { nodeTimeoutMs: 1000 }).install();

    afterEach(async () => {
      const down = fixture.cluster.nodes.filter((node) => !node.isRunning);
      await Promise.all(down.map((node) => node.start()));
      await fixture.cluster.untilHealthy();
    });

    it("are left for their successors with the option availabilityZone", async () => {
      const client = fixture.connect({ availabilityZone: "a" });
      await untilClusterReady(client);
      await client.set(KEY, "before");
      const victim = await fixture.cluster.ownerOf(SLOT);
      await victim.kill();
      await untilReplaced(fixture, victim);
      expect(await timeOf(client.set(KEY, "after"))).to.be.lessThan(SOON_MS);
      expect(client.slots[SLOT]?.[0]).not.to.equal(`${victim.host}:${victim.port}`);
    }).timeout(60_000);
  });
}

describe("cluster: dead owners", () => {
  const fixture = new ClusterFixture(ServerKind.Redis, { nodeTimeoutMs: 1000 }).install();

  afterEach(async () => {
    const down = fixture.cluster.nodes.filter((node) => !node.isRunning);
    await Promise.all(down.map((node) => node.start()));
    await fixture.cluster.untilHealthy();
  });

  /** A user of all nodes whose rights are changed later. */
  async function permit(...rules: string[]): Promise<void> {
    for (const node of fixture.cluster.nodes) await node.command("ACL", "SETUSER", "app", ...rules);
  }

  const login = { redisOptions: { username: "app", password: "pw" } };

  it("are found out by asking another master when the user may not read the table", async () => {
    await permit("reset", "on", ">pw", "~*", "&*", "+@all");
    const client = fixture.connect(login);
    await untilClusterReady(client);
    await client.set(KEY, "before");
    await permit("-cluster");
    const victim = await fixture.cluster.ownerOf(SLOT);
    await victim.kill();
    await untilReplaced(fixture, victim);
    const keys = Array.from({ length: 20 }, (_, index) => `{owned}:${index}`);
    const beganMs = performance.now();
    for (const answer of await Promise.all(keys.map((key) => client.set(key, "after"))))
      expect(answer).to.equal("OK");
    expect(performance.now() - beganMs).to.be.lessThan(SOON_MS);
  }).timeout(60_000);

  describe("of a slot that moves", () => {
    let source: ServerProcess;
    let target: ServerProcess;

    beforeEach(async () => {
      source = await fixture.cluster.ownerOf(SLOT);
      target = (await fixture.cluster.masters()).find((node) => node !== source) as ServerProcess;
      await fixture.cluster.beginMigration(SLOT, target);
    });
    afterEach(async () => {
      await source.command("CLUSTER", "SETSLOT", SLOT, "STABLE");
      await target.command("CLUSTER", "SETSLOT", SLOT, "STABLE");
    });

    it("are waited for, as long as a command has tries", async () => {
      const client = fixture.connect();
      await untilClusterReady(client);
      await target.kill();
      const calls = Promise.all(
        Array.from({ length: 20 }, (_, index) => client.incr(`{owned}:asked:${index}`)),
      );
      const [answers] = await Promise.all([calls, sleep(800).then(() => target.start())]);
      expect(new Set(answers)).to.deep.equal(new Set([1]));
    }).timeout(60_000);

    it("tell a user who may not send ASKING of that", async () => {
      await permit("reset", "on", ">pw", "~*", "&*", "+@all", "-asking");
      const client = fixture.connect(login);
      await untilClusterReady(client);
      for (const call of [client.incr("{owned}:refused"), client.multi().incr("{owned}:refused").exec()]) {
        const { message } = await failureOf(call);
        expect(message).to.match(/^NOPERM.*asking/i);
      }
    }).timeout(60_000);
  });
});
