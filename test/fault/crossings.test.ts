/**
 * Endings, losses and time limits that cross each other and what is under way: transactions,
 * blocking commands on leased connections, bulk, bounds. Each call is told once, and the server
 * has what the callers were told.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Redis } from "../../src/index";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { codeOf, type Failure, outcomeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

type Told = { readonly code: string; readonly value: unknown; readonly mayHaveRun: boolean };
type AnyMethod = (...args: unknown[]) => unknown;

const ROUNDS = process.env.SLUICE_LONG === "1" ? 200 : 20;
const MAY_HAVE_RUN = new Set(["OUTCOME_UNKNOWN", "COMMAND_LOST", "BULK_ABORTED"]);

describe("what crosses each other", function () {
  this.timeout(process.env.SLUICE_LONG === "1" ? 600_000 : 60_000);
  const injections = countInjections("endings and losses that cross what is under way");
  const fixture = new ServerFixture().install();
  let redis: Redis;
  /** How often each call was told how it ended. */
  let times: number[];
  beforeEach(() => {
    times = [];
  });
  afterEach(() => {
    expect(times.filter((count) => count !== 1)).to.deep.equal([]);
  });

  async function connect(options: RedisOptions = {}): Promise<void> {
    redis = fixture.connect({ connectionName: "crossing", watchdog: false, ...options });
    await untilReady(redis);
  }

  /** By callback, because a promise cannot show that it was settled twice. */
  function told(target: Redis, method: string, ...args: unknown[]): Promise<Told> {
    const index = times.push(0) - 1;
    return new Promise((resolve) => {
      const callback = (error: Failure | null, value: unknown): void => {
        times[index] = (times[index] as number) + 1;
        const code = error === null ? "done" : String(error.code);
        resolve({ code, value, mayHaveRun: error?.details?.mayHaveRun ?? MAY_HAVE_RUN.has(code) });
      };
      (target as unknown as Record<string, AnyMethod>)[method]?.(...args, callback);
    });
  }

  /** All of them, but not for ever. */
  async function all(calls: readonly Promise<Told>[]): Promise<Told[]> {
    const [state, value] = await outcomeOf(Promise.all(calls), 10_000);
    expect(state).to.equal("fulfilled");
    return value as Told[];
  }

  function codes(list: readonly Told[]): string[] {
    return list.map(({ code }) => code);
  }

  async function untilGone(): Promise<void> {
    const isGone = async (): Promise<boolean> =>
      !String(await fixture.server.command("CLIENT", "LIST")).includes("name=crossing ");
    await waitUntil(isGone, { timeoutMs: 5000, what: "the server to forget the client" });
  }

  async function numberAt(key: string): Promise<number> {
    return Number((await fixture.server.command("GET", key)) ?? 0);
  }

  it("quit() in a transaction opened by hand: nothing of it runs, the client ends", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await connect();
      const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
      const opened = redis.multi({ pipeline: false });
      const calls = [told(redis, "incr", "cross:n"), told(redis, "incr", "cross:n"), told(redis, "quit")];
      const late = told(redis, "exec");
      if (round % 2 === 1) fixture.proxy.cutAfter({ direction: "toServer", bytes: 1 + round * 4 });
      const [opening] = await outcomeOf(opened);
      expect(opening).to.be.oneOf(round % 2 === 0 ? ["fulfilled"] : ["fulfilled", "rejected"]);
      const [first, second, left, exec] = await all([...calls, late]);
      for (const one of [first, second])
        expect(one?.value === "QUEUED" || one?.code !== "done").to.equal(true);
      expect([left?.code, exec?.code]).to.deep.equal(["done", "CONNECTION_CLOSED"]);
      expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
      injections.add();
    }
    await untilGone();
    expect(await numberAt("cross:n")).to.equal(0);
  });

  for (const bounds of [undefined, { maxCommands: 2 }]) {
    it(`disconnect(true) inside a transaction opened by hand, ${bounds ? "bounds" : "no bounds"}`, async () => {
      await connect({ bounds });
      let ran = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const opened = await redis.multi({ pipeline: false });
        expect(opened).to.equal("OK");
        const calls = [told(redis, "incr", "cross:a"), told(redis, "incr", "cross:b"), told(redis, "exec")];
        if (round % 2 === 1) await sleep(round % 4);
        const ready = new Promise((resolve) => redis.once("ready", resolve));
        redis.disconnect(true);
        const list = await all(calls);
        const rows = list[2]?.value as [Error | null, number][] | undefined;
        if (list[2]?.code === "done") {
          expect(rows?.map(([error]) => error)).to.deep.equal([null, null]);
          ran++;
        } else expect(codes(list)).to.satisfy((told: string[]) => told.every((code) => code !== "REPLY"));
        await ready;
        expect(await redis.echo("outside")).to.equal("outside");
        injections.add();
      }
      const [a, b] = [await numberAt("cross:a"), await numberAt("cross:b")];
      expect(a).to.equal(b);
      expect(a).to.be.at.least(ran);
      expect(a).to.be.at.most(ROUNDS);
    });
  }

  it("a BLPOP on a leased line is given up as its element comes: no element is lost without a word", async () => {
    await connect({ blockingConnections: 1 });
    let taken = 0;
    let inDoubt = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const abort = new AbortController();
      const view =
        round % 2 === 0 ? redis.with({ signal: abort.signal }) : redis.with({ timeout: round % 20 });
      const popped = told(view, "blpop", "cross:list", 0);
      await sleep(round % 12);
      const pushed = fixture.server.command("RPUSH", "cross:list", String(round));
      if (round % 3 === 0) await pushed;
      abort.abort();
      await pushed;
      const [outcome] = await all([popped]);
      if (outcome?.code === "done") taken++;
      else if (outcome?.mayHaveRun === true) inDoubt++;
      else expect(outcome?.code).to.match(/^(ABORTED_BY_SIGNAL|COMMAND_TIMEOUT)$/);
      injections.add();
    }
    // A line whose command was given up is closed; what it had popped by then is in doubt.
    await waitUntil(
      async () =>
        !/ name=crossing [^\n]* flags=\w*b/.test(String(await fixture.server.command("CLIENT", "LIST"))),
      { timeoutMs: 5000, what: "blocked lines to be closed" },
    );
    const left = Number(await fixture.server.command("LLEN", "cross:list"));
    expect(taken + left).to.be.at.most(ROUNDS);
    expect(taken + left + inDoubt).to.be.at.least(ROUNDS);
  });

  for (const ending of ["quit", "quit in time", "disconnect"] as const) {
    it(`${ending} while leased lines block, others wait for one, and bounds are full`, async () => {
      for (let round = 0; round < ROUNDS / 2; round++) {
        await connect({ blockingConnections: 2, bounds: { maxCommands: 5 } });
        const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
        const blocked = Array.from({ length: 4 }, () => told(redis, "blpop", "cross:nothing", 0));
        const others = Array.from({ length: 4 }, () => told(redis, "incr", "cross:n"));
        await sleep(round % 5);
        if (ending === "quit in time")
          expect(await redis.quit({ timeout: 20 })).to.have.property("isDrained");
        else if (ending === "quit") void redis.quit().catch(() => {});
        if (ending === "quit") await sleep(5);
        redis.disconnect();
        const list = await all([...blocked, ...others]);
        for (const { code } of list.slice(0, 4))
          expect(code).to.match(/^(CONNECTION_CLOSED|OUTCOME_UNKNOWN)$/);
        expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
        await untilGone();
        const incremented = list.slice(4);
        const done = incremented.filter(({ code }) => code === "done").length;
        const unknown = incremented.filter(({ mayHaveRun }) => mayHaveRun).length;
        const counted = await numberAt("cross:n");
        expect(counted).to.be.within(done, done + unknown);
        await fixture.server.command("DEL", "cross:n");
        injections.add();
      }
    });
  }

  it("disconnect() and connect() again under bounds: the room is all there afterwards", async () => {
    const maxCommands = 4;
    await connect({ bounds: { maxCommands }, retryPolicy: "at-most-once" });
    const list: Told[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const calls = Array.from({ length: 12 }, (_, i) => {
        const view = i % 3 === 0 ? redis.with({ timeout: (round * 3) % 15 }) : redis;
        return told(view, "incr", "cross:n");
      });
      if (round % 3 === 0) await sleep(1);
      const ended = new Promise((resolve) => redis.once("end", resolve));
      redis.disconnect();
      await ended;
      const connected = redis.connect();
      list.push(...(await all(calls)));
      await connected;
      injections.add();
    }
    const done = list.filter(({ code }) => code === "done").length;
    const unknown = list.filter(({ mayHaveRun }) => mayHaveRun).length;
    expect(await numberAt("cross:n")).to.be.within(done, done + unknown);
    // As many as fit are written at once: nothing that has ended still counts.
    fixture.proxy.stall("toClient");
    const last = Array.from({ length: maxCommands + 1 }, () => told(redis, "echo", "x"));
    await sleep(10);
    expect(redis.commandQueue.length).to.equal(maxCommands);
    fixture.proxy.heal();
    expect(new Set(codes(await all(last)))).to.deep.equal(new Set(["done"]));
  });

  it("a bulk under bounds, over a line that is cut and given a new one on purpose", async () => {
    const count = 400;
    for (let round = 0; round < ROUNDS / 4; round++) {
      await connect({ bounds: { maxCommands: 50 }, retryPolicy: "at-most-once" });
      const commands = Array.from({ length: count }, (_, i) => ["rpush", "cross:bulk", String(i)]);
      const rows: (string | undefined)[] = [];
      const reading = (async () => {
        for await (const [error] of redis.bulk(commands as never, { batchSize: 30, inFlight: 3 })) {
          rows.push((error as Failure | null)?.code);
        }
      })();
      fixture.proxy.cutAfter({
        direction: round % 2 === 0 ? "toServer" : "toClient",
        bytes: 500 + round * 700,
      });
      await sleep(round);
      redis.disconnect(true);
      expect((await outcomeOf(reading, 10_000))[0]).to.equal("fulfilled");
      expect(rows).to.have.length(count);
      const list = (await fixture.server.command("LRANGE", "cross:bulk", "0", "-1")) as string[];
      expect(list).to.deep.equal([...new Set(list)].sort((x, y) => Number(x) - Number(y)));
      const ran = new Set(list.map(Number));
      const wrong = rows.filter(
        (code, i) => (code === undefined) !== ran.has(i) && code !== "OUTCOME_UNKNOWN",
      );
      expect(wrong).to.deep.equal([]);
      await fixture.server.command("DEL", "cross:bulk");
      await closeClient(redis);
      injections.add();
    }
  });

  it("time limits of members pass while the line of their transaction breaks: whole or not at all", async () => {
    await connect({ retryPolicy: "at-most-once" });
    for (let round = 0; round < ROUNDS; round++) {
      const view = redis.with({ timeout: round % 12 });
      const index = times.push(0) - 1;
      const transaction = view.multi().rpush("cross:whole", `${round}a`).rpush("cross:whole", `${round}b`);
      const exec = codeOf(transaction.exec());
      void exec.then(() => times.splice(index, 1, (times[index] as number) + 1));
      fixture.proxy.cutAfter({ direction: round % 2 === 0 ? "toServer" : "toClient", bytes: 1 + round * 5 });
      await sleep(round % 7);
      if (round % 3 === 0) redis.disconnect(true);
      const code = await exec;
      await redis.ping().catch(() => {});
      const list = (await fixture.server.command("LRANGE", "cross:whole", "0", "-1")) as string[];
      expect(list).to.deep.equal(list.length === 0 ? [] : [`${round}a`, `${round}b`]);
      if (code === "fulfilled") expect(list).to.have.length(2);
      await fixture.server.command("DEL", "cross:whole");
      injections.add();
    }
  });

  it("a WATCH, a reconnect on purpose and a quit(): EXEC does not commit unguarded", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await connect();
      await redis.watch("cross:guard");
      redis.disconnect(true);
      const calls = [told(redis, "incr", "cross:n")];
      const exec = codeOf(redis.multi().incr("cross:guarded").exec());
      if (round % 2 === 0) await fixture.server.command("INCR", "cross:guard");
      const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
      calls.push(told(redis, "quit"));
      const list = await all(calls);
      expect(await exec).to.equal("WATCH_LOST");
      expect(codes(list)).to.deep.equal(["done", "done"]);
      expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
      injections.add();
    }
    expect([await numberAt("cross:n"), await numberAt("cross:guarded")]).to.deep.equal([ROUNDS, 0]);
  });

  it("from its own events a client is left, joined again and used", async () => {
    await connect({ enableAutoPipelining: true, retryPolicy: "at-most-once" });
    const calls: Promise<Told>[] = [];
    const moments = ["close", "reconnecting", "connecting", "connect", "ready"] as const;
    let quits = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const moment = moments[round % moments.length] as (typeof moments)[number];
      const used = new Promise<void>((resolve) => {
        redis.once(moment, () => {
          calls.push(told(redis, "incr", "cross:n"));
          if (round % 2 === 0) redis.disconnect(true);
          else {
            quits++;
            calls.push(told(redis, "quit"));
            calls.push(told(redis, "incr", "cross:late"));
          }
          resolve();
        });
      });
      calls.push(told(redis, "incr", "cross:n"));
      fixture.proxy.cutAll();
      await used;
      if (round % 2 === 1) {
        await waitUntil(async () => redis.status === "end", { timeoutMs: 5000, what: `end, from ${moment}` });
        await redis.connect();
      } else await untilReady(redis);
      injections.add();
    }
    const list = await all(calls);
    const late = list.filter(({ code }) => code === "CONNECTION_CLOSED").length;
    expect(late).to.be.at.least(quits);
    expect(await numberAt("cross:late")).to.equal(0);
    const done = list.filter(({ code, value }) => code === "done" && typeof value === "number").length;
    const unknown = list.filter(({ mayHaveRun }) => mayHaveRun).length;
    expect(await numberAt("cross:n")).to.be.within(done, done + unknown);
  });

  it("QUIT behind a full window of automatic batches, given up, and issued again", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await connect({ enableAutoPipelining: { maxInFlight: 1, maxCommands: 3 } });
      const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
      fixture.proxy.stall(round % 2 === 0 ? "toServer" : "toClient");
      const calls = Array.from({ length: 10 }, () => told(redis, "incr", "cross:n"));
      await sleep(round % 3);
      const givenUp = told(redis.with({ timeout: 50 }), "quit");
      const refused = told(redis, "incr", "cross:late");
      const [left] = await all([givenUp]);
      expect(left).to.include({ code: "COMMAND_TIMEOUT", mayHaveRun: true });
      fixture.proxy.heal();
      expect(new Set(codes(await all(calls)))).to.deep.equal(new Set(["done"]));
      expect(codes(await all([refused]))).to.deep.equal(["CONNECTION_CLOSED"]);
      expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
      injections.add();
    }
    expect([await numberAt("cross:n"), await numberAt("cross:late")]).to.deep.equal([ROUNDS * 10, 0]);
  });
});
