/** Connections of one's own: what they are good for, what they leave behind, who waits, and how they end. */

import { expect } from "chai";
import { type LeasedConnection, Redis } from "../../src/index";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { type MatrixContext, matrix, untilReady } from "../support/matrix";
import { codeOf, failureOf, outcomeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

const PAIR = { autoPipelining: [false] } as const;

async function countConnections(redis: Redis): Promise<number> {
  return String(await redis.client("LIST"))
    .trim()
    .split("\n").length;
}

describe("leases", () => {
  matrix("watch on a connection that nothing else uses", {}, async ({ redis, connect }) => {
    const own = await redis.lease();
    expect(await own.client("ID")).not.to.equal(await redis.client("ID"));
    await own.watch("k");
    // The EXEC of another request ends no watch of this one.
    await redis.multi().set("other", 1).exec();
    expect(await own.multi().set("k", 1).exec()).to.deep.equal([[null, "OK"]]);
    await own.watch("k");
    await connect().set("k", 2);
    expect(await own.multi().set("k", 3).exec()).to.equal(null);
    await own.release();
    expect(await redis.get("k")).to.equal("2");
  });

  matrix("have the options, the scripts and the database of the client", {}, async ({ redis, connect }) => {
    const client = connect({ keyPrefix: "p:", db: 3, scripts: { twice: { numberOfKeys: 1, lua: TWICE } } });
    client.defineCommand("thrice", { numberOfKeys: 1, lua: TWICE.replace("2", "3") });
    await client.withConnection(async (own) => {
      await own.set("n", 7);
      const scripts = own as unknown as Record<"twice" | "thrice", (key: string) => Promise<number>>;
      expect([await scripts.twice("n"), await scripts.thrice("n")]).to.deep.equal([14, 21]);
      const rows = await (own.pipeline() as unknown as { twice(key: string): { exec(): unknown } })
        .twice("n")
        .exec();
      expect(rows).to.deep.equal([[null, 14]]);
    });
    await redis.select(3);
    expect(await redis.keys("*")).to.deep.equal(["p:n"]);
  });

  matrix("give the database that is selected at the time of the lease", PAIR, async ({ redis }) => {
    await redis.select(2);
    const own = await redis.lease();
    await own.select(5);
    await own.set("k", "in five");
    await own.release();
    const next = await redis.lease();
    expect(await next.get("k")).to.equal(null);
    await next.release();
  });

  matrix("come back clean to the next one", PAIR, async ({ redis, connect, protocol }) => {
    const own = await redis.lease();
    const id = await own.client("ID");
    const got: string[] = [];
    own.on("message", (channel, message) => got.push(`${channel} ${message}`));
    await own.subscribe("news");
    await own.psubscribe("n*");
    if (protocol === 3) {
      await own.watch("k");
      await own.multi({ pipeline: false });
      expect(await own.get("k")).to.equal("QUEUED");
    }
    await redis.publish("news", "one");
    await own.release();
    await redis.publish("news", "two");
    const next = await redis.lease();
    expect(await next.client("ID")).to.equal(id);
    expect(await next.get("k")).to.equal(null);
    expect(await redis.pubsub("NUMSUB", "news")).to.deep.equal(["news", 0]);
    expect(await redis.pubsub("NUMPAT")).to.equal(0);
    await connect().set("k", 1);
    // Without the UNWATCH this were null.
    expect(await next.multi().get("k").exec()).to.deep.equal([[null, "1"]]);
    await next.release();
    expect(got).to.deep.equal(["news one"]);
  });

  matrix(
    "come back clean after a watch without EXEC, for the same caller too",
    PAIR,
    async ({ redis, connect }) => {
      const own = await redis.lease();
      await own.watch("k");
      await own.release();
      await connect().set("k", 1);
      const next = await redis.lease();
      expect(await next.multi().get("k").exec()).to.deep.equal([[null, "1"]]);
      await next.release();
    },
  );

  matrix("come back clean after a watch that the server has kept", PAIR, async ({ redis, connect }) => {
    for (const name of ["discard", "exec"]) {
      const own = await redis.lease();
      await own.watch("k");
      expect(await codeOf(own.call(name))).to.equal("REPLY");
      await own.release();
      await connect().set("k", name);
      const next = await redis.lease();
      expect(await next.multi().get("k").exec()).to.deep.equal([[null, name]]);
      await next.release();
    }
  });

  matrix("come back clean after a MULTI that the server has refused", PAIR, async ({ redis, connect }) => {
    const own = await redis.lease();
    await own.watch("k");
    expect(await codeOf(own.call("multi", "too many"))).to.equal("REPLY");
    expect(await codeOf(own.call("exec"))).to.equal("REPLY");
    await own.release();
    await connect().set("k", 1);
    const next = await redis.lease();
    expect(await next.multi().get("k").exec()).to.deep.equal([[null, "1"]]);
    await next.release();
  });

  matrix("tolerate an unsubscribe of one's own", PAIR, async ({ redis }) => {
    const own = await redis.lease();
    const id = await own.client("ID");
    await own.subscribe("news");
    await own.unsubscribe("news");
    await own.release();
    expect(await redis.withConnection((next) => next.client("ID"))).to.equal(id);
  });

  matrix("close a connection with settings that cannot be undone", PAIR, async ({ redis }) => {
    for (const spoil of [
      (own: Redis) => own.client("SETNAME", "mine"),
      (own: Redis) => own.call("client", "no-evict", "on"),
    ]) {
      const own = await redis.lease();
      const id = await own.client("ID");
      await spoil(own as unknown as Redis);
      await own.release();
      expect(await redis.withConnection((next) => next.client("ID"))).not.to.equal(id);
    }
  });

  matrix("wait for replies that are still to come", PAIR, async ({ redis }) => {
    const own = await redis.lease();
    const id = own.client("ID");
    const work = Promise.all([own.set("a", 1), own.incr("a")]);
    await own.release();
    expect(await work).to.deep.equal(["OK", 2]);
    expect(await redis.withConnection((next) => next.client("ID"))).to.equal(await id);
  });

  matrix("close a connection that the server may hold", PAIR, async ({ redis }) => {
    const own = await redis.lease();
    await own.ping();
    const popped = codeOf(own.blpop("never", 0));
    await own.release();
    expect(await popped).to.be.oneOf(["CONNECTION_CLOSED", "OUTCOME_UNKNOWN"]);
    while (!/blocked_clients:0/.test(await redis.info("clients"))) await redis.ping();
  });

  matrix("refuse commands after the release", PAIR, async ({ redis }) => {
    let kept: Awaited<ReturnType<Redis["lease"]>>;
    {
      await using own = await redis.lease();
      kept = own;
      await own.set("k", 1);
    }
    expect(await codeOf(kept.set("k", 2))).to.equal("LEASE_RELEASED");
    const rows = await kept.pipeline().set("k", 3).get("k").exec();
    expect(rows?.map(([error]) => (error as { code?: string } | null)?.code)).to.deep.equal([
      "LEASE_RELEASED",
      "LEASE_RELEASED",
    ]);
    expect(await codeOf(kept.multi().set("k", 4).exec())).to.equal("LEASE_RELEASED");
    await kept.release();
    expect(await redis.get("k")).to.equal("1");
  });

  matrix("are bounded, and served in order", PAIR, async ({ connect }) => {
    const redis = connect({ leases: { max: 2, waitMs: 5000 } });
    const [first, second] = await Promise.all([redis.lease(), redis.lease()]);
    const served: number[] = [];
    const waiting = [1, 2, 3].map(async (index) => {
      const own = await redis.lease();
      served.push(index);
      await own.release();
    });
    expect(await codeOf(redis.lease({ waitMs: 20 }))).to.equal("LEASE_TIMEOUT");
    expect(served).to.deep.equal([]);
    await first.release();
    await Promise.all(waiting);
    expect(served).to.deep.equal([1, 2, 3]);
    await second.release();
  });

  matrix("close when they are idle", PAIR, async ({ redis, connect }) => {
    const client = connect({ leases: { idleMs: 20 } });
    await untilReady(client);
    const before = await countConnections(redis);
    const both = await Promise.all([client.lease(), client.lease()]);
    await Promise.all(both.map((own) => own.ping()));
    expect(await countConnections(redis)).to.equal(before + 2);
    await Promise.all(both.map((own) => own.release()));
    while ((await countConnections(redis)) > before) await redis.ping();
    expect(await client.withConnection((own) => own.ping())).to.equal("PONG");
  });

  matrix("share the pool with blocking commands", PAIR, async ({ redis, connect }) => {
    const client = connect({ blockingConnections: 1 });
    await untilReady(client);
    const before = await countConnections(redis);
    await client.blpop("never", 0.01);
    await client.withConnection((own) => own.ping());
    await client.blpop("never", 0.01);
    expect(await countConnections(redis)).to.equal(before + 1);
    // Leases take no connection from blocking commands.
    const many = await Promise.all(Array.from({ length: 10 }, () => client.lease()));
    expect(await client.blpop("never", 0.01)).to.equal(null);
    await Promise.all(many.map((own) => own.release()));
  });

  matrix("end with withConnection(), whatever the function does", PAIR, async ({ connect }) => {
    const redis = connect({ leases: { max: 1, waitMs: 1000 } });
    const failing = redis.withConnection(async () => {
      throw new Error("of the function");
    });
    expect(await outcomeOf(failing)).to.deep.equal(["rejected", "of the function"]);
    expect(await redis.withConnection((own) => own.echo("again"))).to.equal("again");
  });

  describe("transaction()", () => {
    matrix("repeats until no other client has interfered", PAIR, async ({ redis }) => {
      const add = (): Promise<unknown> =>
        redis.transaction("n", async (own) => own.multi().set("n", Number(await own.get("n")) + 1), {
          attempts: 1000,
        });
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < 5; i++) expect(await add()).to.deep.equal([[null, "OK"]]);
        }),
      );
      expect(await redis.get("n")).to.equal("40");
    });

    matrix("gives up with an error", PAIR, async ({ redis }) => {
      let calls = 0;
      const lost = redis.transaction(
        ["n", "m"],
        async (own) => {
          calls++;
          await redis.set("m", calls);
          return own.multi().set("n", 1);
        },
        { attempts: 3 },
      );
      expect(await codeOf(lost)).to.equal("TRANSACTION_CONFLICT");
      expect([calls, await redis.get("n")]).to.deep.equal([3, null]);
      expect(await codeOf(redis.transaction([], async (own) => own.multi()))).to.equal("INVALID_OPTION");
    });
  });

  describe("transaction() and its arguments", () => {
    type Result = ReturnType<LeasedConnection["multi"]>;
    matrix("rejects a result that would run without the watch", PAIR, async ({ redis }) => {
      const wrong: Record<string, (own: LeasedConnection) => unknown> = {
        pipeline: (own) => own.pipeline().set("k", 1),
        "transaction of the client": () => redis.multi().set("k", 1),
        nothing: () => undefined,
        "reply to exec()": (own) => own.multi().set("other", 1).exec(),
      };
      for (const [name, work] of Object.entries(wrong)) {
        const result = redis.transaction("k", async (own) => (await work(own)) as Result);
        expect([name, await codeOf(result)]).to.deep.equal([name, "INVALID_OPTION"]);
      }
      expect(await redis.get("k")).to.equal(null);
      const rows = await redis.transaction("k", (own) => own.with({ timeout: 5000 }).multi().set("k", 2));
      expect(rows).to.deep.equal([[null, "OK"]]);
    });

    it("rejects invalid settings", async () => {
      const redis = new Redis({ lazyConnect: true });
      for (const options of [{ attempts: 0 }, { attempts: Number.NaN }, { attempt: 3 }]) {
        const result = redis.transaction("k", (own) => own.multi().get("k"), options as object);
        expect(await codeOf(result)).to.equal("INVALID_OPTION");
      }
      for (const options of [{ waitMs: Number.NaN }, { wait: 5 }])
        expect(await codeOf(redis.lease(options as object))).to.equal("INVALID_OPTION");
      redis.disconnect();
    });
  });

  matrix("are not waited for after an abort", PAIR, async ({ connect }) => {
    const client = connect({ leases: { max: 1 } });
    const held = await client.lease();
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = [client.lease({ signal }), client.withConnection((own) => own.ping(), { signal })];
    const next = client.lease();
    controller.abort(new Error("of the caller"));
    for (const one of waiting) {
      const error = await failureOf(one);
      expect([error.code, error.cause?.message]).to.deep.equal(["ABORTED_BY_SIGNAL", "of the caller"]);
    }
    expect(await codeOf(client.lease({ signal }))).to.equal("ABORTED_BY_SIGNAL");
    await held.release();
    await (await next).release();
    const later = await client.lease({ signal: new AbortController().signal });
    expect(await later.ping()).to.equal("PONG");
    await later.release();
  });

  matrix("wait without a limit", PAIR, async ({ connect }) => {
    const client = connect({ leases: { max: 1 } });
    const held = await client.lease();
    const next = client.lease({ waitMs: Number.POSITIVE_INFINITY });
    let isOver = false;
    next.then(
      () => (isOver = true),
      () => (isOver = true),
    );
    // A timer of 1 ms fires before that.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(isOver).to.equal(false);
    await held.release();
    await (await next).release();
  });

  describe("and the end of their client", () => {
    const left = async (
      { redis, connect }: MatrixContext,
      end: (client: Redis) => unknown,
    ): Promise<unknown[]> => {
      const client = connect({ leases: { max: 1 } });
      const own = await client.lease();
      await own.ping();
      const waiting = codeOf(client.lease());
      const issued = codeOf(own.set("k", "issued"));
      const ended = end(client);
      const late = codeOf(own.set("k", "late"));
      const after = codeOf(client.lease());
      await ended;
      const codes = await Promise.all([issued, late, waiting, after]);
      await own.release();
      return [...codes, await redis.get("k")];
    };

    for (const [name, quit] of Object.entries({
      "quit()": (client: Redis) => client.quit(),
      "quit({ timeout })": (client: Redis) => client.quit({ timeout: 2000 }),
    })) {
      matrix(`${name} answers what was issued`, PAIR, async (context) => {
        expect(await left(context, quit)).to.deep.equal([
          "fulfilled",
          "CONNECTION_CLOSED",
          "CONNECTION_CLOSED",
          "CONNECTION_CLOSED",
          "issued",
        ]);
      });
    }

    matrix("disconnect() ends all at once", PAIR, async (context) => {
      const codes = await left(context, (client) => client.disconnect());
      expect(codes.slice(1, 4)).to.deep.equal(Array(3).fill("CONNECTION_CLOSED"));
    });

    it("quit({ timeout }) counts what is left, and closes it", async () => {
      const fake = await FakeServer.start(([word]) =>
        word === "x" || word === "quit" ? NO_REPLY : undefined,
      );
      const client = new Redis({ host: fake.host, port: fake.port });
      await untilReady(client);
      const own = await client.lease();
      await own.ping();
      const work = codeOf(own.call("x"));
      expect(await client.quit({ timeout: 30 })).to.deep.equal({
        isDrained: false,
        unanswered: 1,
        unsent: 0,
      });
      expect(await work).to.equal("OUTCOME_UNKNOWN");
      await own.release();
      await fake.stop();
    });
  });

  describe("on a line that is cut", () => {
    const fixture = new ServerFixture().install();

    it("lose their watch, and transaction() begins again", async () => {
      const redis = fixture.connect();
      await untilReady(redis);
      const own = await redis.lease();
      await own.watch("k");
      fixture.proxy.cutAll();
      expect(await codeOf(own.multi().set("k", 1).exec())).to.equal("WATCH_LOST");
      await own.release();
      let calls = 0;
      const rows = await redis.transaction("k", async (mine) => {
        if (++calls === 1) {
          fixture.proxy.cutAll();
          await redis.ping();
        }
        return mine.multi().set("k", 2);
      });
      expect(rows).to.deep.equal([[null, "OK"]]);
      expect([calls, await fixture.control.get("k")]).to.deep.equal([2, "2"]);
    });

    it("come to the pool again with a new connection", async () => {
      const redis = fixture.connect({ leases: { max: 1 } });
      for (let round = 0; round < 5; round++) {
        const own = await redis.lease();
        await own.set("k", round);
        fixture.proxy.cutAll();
        await own.release();
      }
      expect(await fixture.control.get("k")).to.equal("4");
    });
  });
});

const TWICE = "return redis.call('GET', KEYS[1]) * 2";
