/**
 * Lanes while slots go elsewhere: MIGRATE and SETSLOT, a slot that goes as a whole (Valkey 9), and masters that hand
 * over to their replicas. Commands of a slot then come back from the lanes of one node, the one for large values
 * among them, and go to those of another. Each key still has all that was pushed to it, once, in the order of the
 * calls.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { Cluster } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { serverKinds } from "../support/shared-servers";

const KEYS = Array.from({ length: 12 }, (_, index) => `list:${index}`);
const CONNECTIONS = { lanes: 3, bulk: 1 } as const;
const LARGE = "x".repeat(200_000);
const LONG = process.env["SLUICE_LONG"] === "1";
const MOVES = LONG ? 60 : 6;
/** Pushes of a key between two pauses; nobody awaits one before the next. */
const BURST = 7;

/** Pushes numbers to one key without a pause between a call and the next, now by one road, now by another. */
class Pusher {
  count = 0;
  isOver = false;
  readonly refused: unknown[] = [];

  constructor(
    private readonly cluster: Cluster,
    private readonly key: string,
  ) {}

  async work(): Promise<void> {
    const blob = `{${this.key}}blob`;
    while (!this.isOver) {
      const calls: Promise<unknown>[] = [];
      for (let n = 0; n < BURST; n++) calls.push(this.push(n));
      calls.push(this.cluster.set(blob, LARGE), this.cluster.get(blob));
      for (const outcome of await Promise.allSettled(calls)) {
        if (outcome.status === "rejected") this.refused.push(outcome.reason);
      }
      await sleep(1);
    }
  }

  private push(n: number): Promise<unknown> {
    const { cluster, key } = this;
    const value = String(this.count++);
    if (n === 2) return cluster.pipeline().rpush(key, value).exec().then(throwFirst);
    if (n === 4) return cluster.multi().rpush(key, value).exec().then(throwFirst);
    if (n === 5) return cluster.with({ lane: "bulk" }).rpush(key, value);
    return cluster.rpush(key, value);
  }
}

function throwFirst(rows: [Error | null, unknown][] | null): void {
  const [error] = rows?.[0] ?? [new Error("no rows")];
  if (error !== null) throw error;
}

for (const kind of serverKinds()) {
  describe(`cluster: lanes while slots go elsewhere, ${kind}`, function () {
    this.timeout(120_000);
    const fixture = new ClusterFixture(kind).install();

    for (const enableAutoPipelining of [false, true]) {
      const how = enableAutoPipelining ? "with auto-pipelining" : "without auto-pipelining";

      it(`slots that are moved key by key, ${how}`, async () => {
        await pushWhile(enableAutoPipelining, MOVES, (slot, other) => fixture.cluster.moveSlot(slot, other));
      });

      if (kind === ServerKind.Valkey) {
        it(`slots that go as a whole, ${how}`, async () => {
          await pushWhile(enableAutoPipelining, MOVES, moveWhole);
        });
      }

      // Each takes seconds.
      if (enableAutoPipelining && !LONG) continue;
      it(`masters that hand over, ${how}`, async () => {
        await pushWhile(enableAutoPipelining, LONG ? MOVES : 2, async (slot) => {
          await fixture.cluster.failover(await fixture.cluster.ownerOf(slot));
        });
      });
    }

    async function pushWhile(
      enableAutoPipelining: boolean,
      rounds: number,
      harm: (slot: number, other: ServerProcess) => Promise<unknown>,
    ): Promise<void> {
      const { cluster } = fixture;
      await cluster.untilHealthy();
      await fixture.flush();
      const client = fixture.connect({ enableAutoPipelining, redisOptions: { connections: CONNECTIONS } });
      await untilClusterReady(client);
      const pushers = KEYS.map((key) => new Pusher(client, key));
      const work = pushers.map((pusher) => pusher.work());
      try {
        for (let round = 0; round < rounds; round++) {
          await sleep(50);
          const slot = calculateSlot(KEYS[round % KEYS.length] as string);
          const owner = await cluster.ownerOf(slot);
          const others = (await cluster.masters()).filter((master) => master !== owner);
          await harm(slot, others[round % others.length] as ServerProcess);
        }
        await sleep(50);
      } finally {
        for (const pusher of pushers) pusher.isOver = true;
        await Promise.all(work);
      }
      const lanesOf = client.nodes("master").map((node) => node.stats().lanes?.length);
      expect(new Set(lanesOf)).to.deep.equal(new Set([CONNECTIONS.lanes + CONNECTIONS.bulk]));
      expect(pushers.flatMap(({ refused }) => refused)).to.deep.equal([]);
      for (const [index, key] of KEYS.entries()) {
        const { count } = pushers[index] as Pusher;
        const pushed = await client.lrange(key, 0, -1);
        expect(pushed, key).to.deep.equal(Array.from({ length: count }, (_, value) => String(value)));
        expect(count).to.be.greaterThan(BURST);
      }
    }

    /** As Valkey does it by itself: all keys at once, and the old owner names the new one from then on. */
    async function moveWhole(slot: number, other: ServerProcess): Promise<void> {
      const { cluster } = fixture;
      const owner = await cluster.ownerOf(slot);
      const id = await cluster.idOf(other);
      await owner.command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", id);
      await waitUntil(async () => (await cluster.ownerOf(slot)) === other, {
        timeoutMs: 20_000,
        what: "the slot to be with its new owner",
      });
    }
  });
}
