/**
 * Guarantees 3, 4 and 5 over connections that are cut at many bytes, with books kept on the server:
 * commands run in the order of issue, transactions run whole or not at all, a guarded one never
 * after its guard is lost, and a command runs as often as its retry policy and its outcome say.
 */

import { expect } from "chai";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Redis } from "../../src/index";
import { type CutStyle, Direction } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { codeOf, type Failure } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

const LONG = process.env.SLUICE_LONG === "1";
const POLICIES = ["at-least-once", "reads-only", "at-most-once"] as const;
type Policy = (typeof POLICIES)[number];

/** As `codeOf` says it. */
const ANSWERED = "fulfilled";
const NOT_RUN = new Set(["ABORTED", "CONNECTION_CLOSED", "WATCH_LOST"]);

describe("books of cut lines", function () {
  this.timeout(LONG ? 900_000 : 120_000);
  const injections = countInjections("cuts with books kept on the server");
  const fixture = new ServerFixture().install();

  /** Runs the body on fresh clients, cut after ever more bytes. */
  async function overCuts(
    [from, to, step]: readonly [number, number, number],
    options: RedisOptions,
    body: (redis: Redis, where: string) => Promise<void>,
  ): Promise<void> {
    for (let bytes = from; bytes < to; bytes += LONG ? 1 : step) {
      for (const direction of [Direction.ToServer, Direction.ToClient]) {
        const style: CutStyle = bytes % 2 === 0 ? "reset" : "end";
        const redis = fixture.connect({
          // All bytes are those of the program.
          disableClientInfo: true,
          enableReadyCheck: false,
          protocol: 2,
          maxLossesPerCommand: 10,
          ...options,
        });
        try {
          await untilReady(redis);
          fixture.proxy.cutAfter({ direction, bytes, style });
          await fixture.control.flushall();
          await body(redis, `cut ${direction} at ${bytes}`);
          injections.add();
        } finally {
          fixture.proxy.heal();
          await closeClient(redis);
        }
      }
    }
  }

  /** Pushes numbers in every way there is. */
  function pushAll(redis: Redis, count: number): Promise<unknown>[] {
    const calls: Promise<unknown>[] = [];
    for (let number = 0; number < count; ) {
      calls.push(redis.rpush("books:list", number++));
      if (number % 3 === 0) {
        const batch = number % 2 === 0 ? redis.pipeline() : redis.multi();
        calls.push(batch.rpush("books:list", number++).rpush("books:list", number++).exec());
      }
    }
    return calls;
  }

  for (const retryPolicy of POLICIES) {
    for (const enableAutoPipelining of [false, true]) {
      it(`order of issue, ${retryPolicy}, auto-pipelining ${enableAutoPipelining}`, async () => {
        await overCuts([1, 1400, 130], { retryPolicy, enableAutoPipelining }, async (redis, where) => {
          await Promise.all(pushAll(redis, 32).map(codeOf));
          const list = (await fixture.control.lrange("books:list", 0, -1)).map(Number);
          const first = [...new Set(list)];
          expect(first, where).to.deep.equal([...first].sort((a, b) => a - b));
          if (retryPolicy === "at-least-once") expect(first, where).to.have.length(32);
          else expect(list, where).to.deep.equal(first);
        });
      });
    }
  }

  for (const policy of POLICIES) {
    for (const isByCall of [false, true]) {
      it(`INCR as often as it says: ${policy}, ${isByCall ? "of the call" : "of the client"}`, async () => {
        const options: { retryPolicy: Policy } = {
          retryPolicy: isByCall ? (policy === "at-most-once" ? "at-least-once" : "at-most-once") : policy,
        };
        await overCuts([1, 700, 67], options, async (redis, where) => {
          const view = isByCall ? redis.with({ retry: policy }) : redis;
          const codes: Promise<string>[] = [];
          for (let i = 0; i < 10; i++) codes.push(codeOf(view.incr("books:n")));
          const pipeline = view.pipeline();
          for (let i = 0; i < 10; i++) pipeline.incr("books:n");
          const rows = pipeline.exec() as Promise<[Failure | null, unknown][]>;
          const seen = await Promise.all(codes);
          for (const [error] of await rows) seen.push(error === null ? ANSWERED : String(error.code));
          const acknowledged = seen.filter((code) => code === ANSWERED).length;
          const unknown = seen.filter((code) => code === "OUTCOME_UNKNOWN").length;
          for (const code of seen)
            expect(
              code === ANSWERED || code === "OUTCOME_UNKNOWN" || NOT_RUN.has(code),
              `${where}: ${code}`,
            ).to.equal(true);
          const counted = Number(await fixture.control.get("books:n"));
          expect(counted, where).to.be.at.least(acknowledged);
          // A pipeline that was answered in part is not sent again: a half of it would be.
          if (policy === "at-least-once")
            expect(new Set(seen.slice(0, 10)), where).to.deep.equal(new Set([ANSWERED]));
          else expect(counted, where).to.be.at.most(acknowledged + unknown);
        });
      });
    }
  }

  for (const enableAutoPipelining of [false, true]) {
    it(`a transaction opened by hand is whole, auto-pipelining ${enableAutoPipelining}`, async () => {
      await overCuts([1, 160, 9], { enableAutoPipelining }, async (redis, where) => {
        const calls = [
          redis.multi({ pipeline: false }),
          redis.incr("books:a"),
          redis.incr("books:b"),
          redis.exec(),
          redis.incr("books:outside"),
        ];
        await Promise.all(calls.map(codeOf));
        const [a, b] = await fixture.control.mget("books:a", "books:b");
        expect(a, where).to.equal(b);
      });
    });
  }

  it("a transaction inside a pipeline is whole", async () => {
    await overCuts([1, 220, 11], {}, async (redis, where) => {
      const rows = redis
        .pipeline()
        .set("books:before", 1)
        .multi()
        .incr("books:a")
        .incr("books:b")
        .exec()
        .set("books:after", 1)
        .exec();
      await codeOf(rows);
      const [a, b] = await fixture.control.mget("books:a", "books:b");
      expect(a, where).to.equal(b);
    });
  });

  for (const enableAutoPipelining of [false, true]) {
    it(`nothing commits unguarded, auto-pipelining ${enableAutoPipelining}`, async () => {
      await overCuts([1, 200, 9], { enableAutoPipelining }, async (redis, where) => {
        const watched = codeOf(redis.watch("books:guard"));
        const read = codeOf(redis.get("books:guard"));
        await Promise.all([watched, read]);
        // The code that guards it has to see this.
        await fixture.control.set("books:guard", "theirs");
        const exec = redis.multi().set("books:guard", "mine").incr("books:a").exec();
        const code = await codeOf(exec);
        const [guard, a] = await fixture.control.mget("books:guard", "books:a");
        // A WATCH that went again after the cut was answered before `theirs` was set, too.
        expect([guard, a], `${where}: ${code}`).to.deep.equal(["theirs", null]);
      });
    });
  }
});
