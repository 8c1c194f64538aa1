/**
 * WATCH on a client that several users share: EXEC of another user ends every guard of the
 * connection. The guarded transaction must not commit over a change that it did not see.
 */

import { AsyncResource } from "node:async_hooks";
import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { Cluster, Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { untilReady } from "../support/matrix";
import { codeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

/** Made while the files are loaded: a WATCH of other tests has marked nothing in it. */
const outside = new AsyncResource("OUTSIDE");

/** Runs as a request of its own does: in a context that nothing else shares. */
function asRequest<Result>(run: () => Promise<Result>): Promise<Result> {
  return outside.runInAsyncScope(() => new AsyncResource("REQUEST").runInAsyncScope(run));
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Passed by all once it is opened. */
class Gate {
  open!: () => void;
  readonly passed = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

type Transact = (redis: Redis, key: string, value: string) => Promise<unknown>;

const forms: Record<string, Transact> = {
  chained: (redis, key, value) => redis.multi().set(key, value).exec(),
  array: (redis, key, value) => redis.multi([["set", key, value]]).exec(),
  inline: async (redis, key, value) => {
    const rows = (await redis.pipeline().multi().set(key, value).exec().exec()) as unknown[][];
    if (rows[2]?.[0]) throw rows[2][0];
    return rows[2]?.[1];
  },
  "by hand": (redis, key, value) => {
    redis.multi({ pipeline: false }).catch(() => {});
    redis.set(key, value).catch(() => {});
    return redis.exec();
  },
};

describe("WATCH of one user, EXEC of another", () => {
  const fixture = new ServerFixture().install();

  for (const enableAutoPipelining of [false, true]) {
    for (const [form, transact] of Object.entries(forms)) {
      const title = `${form}, auto-pipelining ${enableAutoPipelining ? "on" : "off"}`;

      it(`${title}: the guarded EXEC is refused, the next try commits`, async () => {
        const redis = fixture.connect({ enableAutoPipelining });
        await untilReady(redis);
        const attempts: string[] = [];
        const watched = new Gate();
        const changed = new Gate();
        const guarded = asRequest(async () => {
          for (let round = 0; round < 2; round++) {
            await redis.watch("guarded");
            await redis.get("guarded");
            watched.open();
            await changed.passed;
            attempts.push(await codeOf(transact(redis, "guarded", "mine")));
          }
        });
        await watched.passed;
        const neighbour = asRequest(() => redis.multi().incr("other").exec());
        await neighbour;
        await fixture.control.set("guarded", "foreign");
        changed.open();
        await guarded;
        expect(attempts).to.deep.equal(["WATCH_LOST", "fulfilled"]);
        expect(await neighbour).to.deep.equal([[null, 1]]);
        expect(await redis.get("guarded")).to.equal("mine");
      });

      it(`${title}: one user does as ever`, async () => {
        const redis = fixture.connect({ enableAutoPipelining });
        await untilReady(redis);
        await redis.watch("guarded");
        expect(await codeOf(transact(redis, "other", "1"))).to.equal("fulfilled");
        expect(await codeOf(transact(redis, "guarded", "2"))).to.equal("fulfilled");
        await redis.watch("guarded");
        await fixture.control.set("guarded", "foreign");
        expect(await transact(redis, "guarded", "3")).to.equal(null);
        expect(await codeOf(transact(redis, "guarded", "4"))).to.equal("fulfilled");
        const load = async (): Promise<void> => {
          await pause(1);
          await redis.watch("guarded");
        };
        await load();
        expect(await codeOf(transact(redis, "guarded", "5"))).to.equal("fulfilled");
        await load();
        await fixture.control.set("guarded", "foreign");
        expect(await transact(redis, "guarded", "6")).to.equal(null);
      });
    }
  }

  it("UNWATCH and DISCARD of another user end it as well", async () => {
    const redis = fixture.connect();
    await untilReady(redis);
    for (const end of [
      () => redis.unwatch(),
      async () => {
        await redis.multi({ pipeline: false });
        await redis.discard();
      },
    ]) {
      const watched = new Gate();
      const ended = new Gate();
      const guarded = asRequest(async () => {
        await redis.watch("guarded");
        watched.open();
        await ended.passed;
        return codeOf(redis.multi().set("guarded", "mine").exec());
      });
      await watched.passed;
      await asRequest(end as () => Promise<unknown>);
      ended.open();
      expect(await guarded).to.equal("WATCH_LOST");
    }
  });

  it("after a lost connection no guard of any user holds", async () => {
    const redis = fixture.connect();
    await untilReady(redis);
    const back = new Gate();
    const gates = ["a", "b", "c"].map(() => new Gate());
    const users = ["a", "b", "c"].map((key, i) =>
      asRequest(async () => {
        await redis.watch(key);
        gates[i]?.open();
        await back.passed;
        return codeOf(redis.multi().set(key, "mine").exec());
      }),
    );
    await Promise.all(gates.map((gate) => gate.passed));
    const ready = new Promise((resolve) => redis.once("ready", resolve));
    fixture.proxy.cutAll();
    await ready;
    back.open();
    expect(await Promise.all(users)).to.deep.equal(Array(3).fill("WATCH_LOST"));
  });

  it("many users: what commits has seen the latest value", async () => {
    const redis = fixture.connect();
    await untilReady(redis);
    await redis.set("count", 0);
    let committed = 0;
    const user = async (): Promise<void> => {
      for (let done = 0; done < 5; ) {
        await redis.watch("count");
        const value = Number(await redis.get("count"));
        await pause(Math.random() * 3);
        try {
          const rows = await redis
            .multi()
            .set("count", value + 1)
            .exec();
          if (rows === null) continue;
          done++;
          committed++;
        } catch (error) {
          expect((error as Error & { code: string }).code).to.equal("WATCH_LOST");
        }
      }
    };
    await Promise.all(Array.from({ length: 6 }, () => asRequest(user)));
    expect(await redis.get("count")).to.equal(String(committed));
  });
});

describe("cluster: WATCH of one slot, EXEC on another slot of the node", () => {
  const fixture = new ClusterFixture(ServerKind.Redis).install();

  /** A key of the same node and another slot. */
  async function keyBeside(cluster: Cluster, key: string): Promise<string> {
    const { slots } = cluster as unknown as { slots: string[][] };
    const slot = Number(await cluster.cluster("KEYSLOT", key));
    for (let i = 0; ; i++) {
      const other = Number(await cluster.cluster("KEYSLOT", `other:${i}`));
      if (other !== slot && slots[other]?.[0] === slots[slot]?.[0]) return `other:${i}`;
    }
  }

  it("the guarded EXEC is refused", async () => {
    const cluster = fixture.connect();
    const control = fixture.connect();
    await Promise.all([untilClusterReady(cluster), untilClusterReady(control)]);
    const neighbour = await keyBeside(cluster, "guarded");
    for (let round = 0; round < 5; round++) {
      await cluster.watch("guarded");
      await cluster.get("guarded");
      expect(await codeOf(cluster.multi().set(neighbour, round).exec())).to.equal("fulfilled");
      await control.set("guarded", "foreign");
      expect(await codeOf(cluster.multi().set("guarded", "mine").exec())).to.equal("WATCH_LOST");
      expect(await cluster.get("guarded")).to.equal("foreign");
      await cluster.watch("guarded");
      expect(await codeOf(cluster.multi().set("guarded", "mine").exec())).to.equal("fulfilled");
    }
  });

  describe("UNWATCH, which goes to one node, ends the guards of its user at all", () => {
    /** Keys of three masters: two of them are not asked by UNWATCH. */
    const keys = ["a", "b", "c"];

    for (const isAwaited of [true, false]) {
      it(`after a WATCH that ${isAwaited ? "was answered" : "waits for its node to be dialled"}`, async () => {
        const cluster = fixture.connect();
        const control = fixture.connect();
        await Promise.all([untilClusterReady(cluster), untilClusterReady(control)]);
        const watches = keys.map((key) => cluster.watch(key));
        if (isAwaited) await Promise.all(watches);
        await cluster.unwatch();
        await Promise.all(watches);
        await Promise.all(keys.map((key) => control.set(key, "foreign")));
        for (const key of keys) {
          expect(await cluster.multi().set(key, "mine").exec(), key).to.deep.equal([[null, "OK"]]);
        }
      });
    }

    it("but not unnoticed those of others", async () => {
      const cluster = fixture.connect();
      await untilClusterReady(cluster);
      const watched = new Gate();
      const ended = new Gate();
      const guarded = asRequest(async () => {
        await Promise.all(keys.map((key) => cluster.watch(key)));
        watched.open();
        await ended.passed;
        return Promise.all(keys.map((key) => codeOf(cluster.multi().set(key, "mine").exec())));
      });
      await watched.passed;
      await asRequest(() => cluster.unwatch());
      ended.open();
      expect(await guarded).to.deep.equal(["WATCH_LOST", "WATCH_LOST", "WATCH_LOST"]);
    });
  });

  it("on the same slot, requests are told apart", async () => {
    const cluster = fixture.connect();
    await untilClusterReady(cluster);
    const watched = new Gate();
    const ended = new Gate();
    const guarded = asRequest(async () => {
      await cluster.watch("guarded");
      watched.open();
      await ended.passed;
      return codeOf(cluster.multi().set("guarded", "mine").exec());
    });
    await watched.passed;
    await asRequest(() => cluster.multi().set("{guarded}:other", 1).exec());
    ended.open();
    expect(await guarded).to.equal("WATCH_LOST");
  });
});
