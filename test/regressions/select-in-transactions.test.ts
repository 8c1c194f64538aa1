/**
 * A SELECT inside of a transaction counts only when EXEC has run it: after EXEC null, EXECABORT, a
 * refused element or a transaction that was never written, everything goes on in the old database.
 */

import { expect } from "chai";
import type { Redis } from "../../src/index";
import { untilReady } from "../support/matrix";
import { codeOf, outcomeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

type Form = (redis: Redis, extra?: "refused" | "wrong") => Promise<unknown>;

const forms: Record<string, Form> = {
  chained: (redis, extra) => {
    const multi = redis
      .multi()
      .select(extra === "wrong" ? 9999 : 3)
      .set("inside", 1);
    return (extra === "refused" ? multi.call("nosuch") : multi).exec();
  },
  array: (redis, extra) => {
    const commands: unknown[][] = [
      ["select", extra === "wrong" ? 9999 : 3],
      ["set", "inside", 1],
    ];
    if (extra === "refused") commands.push(["call", "nosuch"]);
    return redis.multi(commands as [string][]).exec();
  },
  inline: async (redis, extra) => {
    const pipeline = redis
      .pipeline()
      .multi()
      .select(extra === "wrong" ? 9999 : 3)
      .set("inside", 1);
    return (extra === "refused" ? pipeline.call("nosuch") : pipeline).exec().exec();
  },
  "by hand": (redis, extra) => {
    const calls: Promise<unknown>[] = [
      redis.multi({ pipeline: false }),
      redis.select(extra === "wrong" ? 9999 : 3),
      redis.set("inside", 1),
    ];
    if (extra === "refused") calls.push(redis.call("nosuch"));
    for (const call of calls) call.catch(() => {});
    return redis.exec();
  },
};

describe("SELECT inside of a transaction", () => {
  const fixture = new ServerFixture().install();
  afterEach(() => fixture.server.command("FLUSHALL"));

  /** In which databases a key is. */
  async function placesOf(key: string): Promise<number[]> {
    const places: number[] = [];
    for (const db of [0, 1, 3]) {
      const control = fixture.connectDirectly({ db });
      if ((await control.exists(key)) === 1) places.push(db);
    }
    return places;
  }

  for (const enableAutoPipelining of [false, true]) {
    for (const [form, run] of Object.entries(forms)) {
      const title = `${form}, auto-pipelining ${enableAutoPipelining ? "on" : "off"}`;

      const connect = async (): Promise<Redis> => {
        const redis = fixture.connect({ db: 1, enableAutoPipelining });
        await untilReady(redis);
        return redis;
      };

      /** Where the client is afterwards, also on its next connection, and behind EXEC in the same run. */
      const expectAt = async (redis: Redis, db: number, transaction: Promise<unknown>): Promise<void> => {
        const behind = redis.set("behind", 1);
        await outcomeOf(transaction);
        await behind;
        await redis.set("after", 1);
        expect(redis.condition?.select).to.equal(db);
        const ready = new Promise((resolve) => redis.once("ready", resolve));
        fixture.proxy.cutAll();
        await ready;
        await redis.set("reconnected", 1);
        for (const key of ["behind", "after", "reconnected"]) {
          expect(await placesOf(key), key).to.deep.equal([db]);
        }
      };

      it(`${title}: a transaction that runs moves`, async () => {
        const redis = await connect();
        await expectAt(redis, 3, run(redis));
        expect(await placesOf("inside")).to.deep.equal([3]);
      });

      it(`${title}: EXEC null does not`, async () => {
        const redis = await connect();
        await redis.watch("guarded");
        await fixture.connectDirectly({ db: 1 }).set("guarded", 1);
        await expectAt(redis, 1, run(redis));
        expect(await placesOf("inside")).to.deep.equal([]);
      });

      it(`${title}: EXECABORT does not`, async () => {
        const redis = await connect();
        await expectAt(redis, 1, run(redis, "refused"));
        expect(await placesOf("inside")).to.deep.equal([]);
      });

      it(`${title}: a SELECT that EXEC refuses does not`, async () => {
        const redis = await connect();
        await expectAt(redis, 1, run(redis, "wrong"));
        expect(await placesOf("inside")).to.deep.equal([1]);
      });

      it(`${title}: a transaction that was given up before it was written does not`, async () => {
        fixture.proxy.refuse();
        const redis = fixture.connect({ db: 1, enableAutoPipelining, maxRetriesPerRequest: null });
        const given = codeOf(run(redis.with({ timeout: 20 }) as Redis));
        const behind = redis.set("behind", 1);
        expect(await given).to.be.oneOf(["COMMAND_TIMEOUT", "ABORTED", "fulfilled"]);
        fixture.proxy.heal();
        await behind;
        expect(await placesOf("behind")).to.deep.equal([1]);
        expect(redis.condition?.select).to.equal(1);
      });

      it(`${title}: EXEC after a lost WATCH does not`, async () => {
        const redis = await connect();
        await redis.watch("guarded");
        const ready = new Promise((resolve) => redis.once("ready", resolve));
        fixture.proxy.cutAll();
        await ready;
        await expectAt(redis, 1, run(redis));
      });
    }
  }

  it("a transaction whose caller gives up while the server is at it: what follows runs in the database from before", async () => {
    const redis = fixture.connect({ db: 1 });
    await untilReady(redis);
    await fixture.connectDirectly().client("PAUSE", 300);
    const given = codeOf((redis.with({ timeout: 50 }) as Redis).multi().select(3).set("inside", 1).exec());
    const behind = redis.set("behind", 1);
    expect(await given).to.equal("COMMAND_TIMEOUT");
    const later = redis.set("later", 1);
    expect(await Promise.all([behind, later])).to.deep.equal(["OK", "OK"]);
    expect(await placesOf("inside"), "it has run all the same").to.deep.equal([3]);
    for (const key of ["behind", "later"]) expect(await placesOf(key), key).to.deep.equal([1]);
  });

  it("a SELECT behind EXEC counts for what follows it, and without an offline queue all of it runs", async () => {
    const redis = fixture.connect({ db: 1, enableOfflineQueue: false });
    await untilReady(redis);
    const all = [
      redis.multi().select(3).set("inside", 1).exec(),
      redis.set("behind", 1),
      redis.select(0),
      redis.set("after", 1),
      redis.multi().select(1).select(9999).exec(),
      redis.set("last", 1),
    ];
    await Promise.all(all);
    const places = await Promise.all(["inside", "behind", "after", "last"].map(placesOf));
    expect(places).to.deep.equal([[3], [3], [0], [1]]);
    expect(redis.condition?.select).to.equal(1);
  });

  it("commands that wait for EXEC when the client quits are sent before", async () => {
    const redis = fixture.connect({ db: 1 });
    await untilReady(redis);
    const exec = redis.multi().select(3).exec();
    const behind = redis.set("behind", 1);
    expect(await redis.quit()).to.equal("OK");
    await exec;
    expect(await behind).to.equal("OK");
    expect(await placesOf("behind")).to.deep.equal([3]);
  });

  it("two transactions one behind the other, the first of which does not run", async () => {
    const redis = fixture.connect({ db: 1 });
    await untilReady(redis);
    await redis.watch("guarded");
    await fixture.connectDirectly({ db: 1 }).set("guarded", 1);
    const first = redis.multi().select(3).exec();
    const second = redis.multi().select(2).call("nosuch").exec();
    expect(await first).to.equal(null);
    expect(await codeOf(second)).to.not.equal("fulfilled");
    await redis.set("after", 1);
    expect(await placesOf("after")).to.deep.equal([1]);
  });
});
