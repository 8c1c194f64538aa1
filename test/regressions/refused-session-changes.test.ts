/**
 * A refused command has changed nothing: after a SELECT or MULTI that failed, the client goes on
 * where it was, and a QUIT that was dismissed has ended it.
 */

import { expect } from "chai";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Redis } from "../../src/index";
import { untilReady } from "../support/matrix";
import { codeOf, outcomeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

describe("refused changes of the session", () => {
  const fixture = new ServerFixture().install();
  let redis: Redis;

  function connect(options: RedisOptions = {}): Redis {
    redis = fixture.connect(options);
    return redis;
  }

  async function reconnect(): Promise<void> {
    const ready = new Promise((resolve) => redis.once("ready", resolve));
    fixture.proxy.cutAll();
    await ready;
  }

  it("a SELECT that no queue takes leaves the database", async () => {
    connect({ enableOfflineQueue: false });
    expect(await codeOf(redis.select(1))).to.equal("OFFLINE_QUEUE_DISABLED");
    await untilReady(redis);
    await redis.set("refused:where", "here");
    expect(await fixture.server.command("GET", "refused:where")).to.equal("here");
    expect(redis.condition?.select).to.equal(0);
  });

  it("a QUIT that no queue takes leaves the client open", async () => {
    connect({ enableOfflineQueue: false });
    expect(await codeOf(redis.call("quit"))).to.equal("OFFLINE_QUEUE_DISABLED");
    await untilReady(redis);
    expect(await redis.echo("open")).to.equal("open");
  });

  async function expectNothingOpen(): Promise<void> {
    expect(await redis.set("refused:a", 1)).to.equal("OK");
    await reconnect();
    expect(await redis.set("refused:b", 1)).to.equal("OK");
    expect(await redis.multi().set("refused:c", 1).exec()).to.deep.equal([[null, "OK"]]);
  }

  it("a MULTI that no queue takes opens nothing", async () => {
    connect({ enableOfflineQueue: false });
    expect(await codeOf(redis.multi({ pipeline: false }))).to.equal("OFFLINE_QUEUE_DISABLED");
    await untilReady(redis);
    await expectNothingOpen();
  });

  it("nothing is taken behind a MULTI that no queue takes before the close", async () => {
    connect({ enableOfflineQueue: false });
    await untilReady(redis);
    redis.stream?.destroy();
    const calls = [redis.multi({ pipeline: false }), redis.incr("refused:n"), redis.exec()].map(codeOf);
    expect(await Promise.all(calls)).to.deep.equal(Array(3).fill("OFFLINE_QUEUE_DISABLED"));
    await new Promise((resolve) => redis.once("close", resolve));
    await untilReady(redis);
    expect(await redis.get("refused:n")).to.equal(null);
  });

  it("a MULTI that found no connection opens nothing", async () => {
    fixture.proxy.refuse();
    connect({ maxRetriesPerRequest: 0 });
    expect(await codeOf(redis.multi({ pipeline: false }))).to.equal("MAX_RETRIES");
    fixture.proxy.heal();
    await untilReady(redis);
    await expectNothingOpen();
  });

  it("a MULTI that was given up while it waited opens nothing", async () => {
    fixture.proxy.refuse();
    connect();
    const opened = codeOf(redis.with({ timeout: 5 }).multi({ pipeline: false }));
    expect(await opened).to.equal("COMMAND_TIMEOUT");
    fixture.proxy.heal();
    await untilReady(redis);
    await expectNothingOpen();
  });

  it("a MULTI that was lost and may not go again opens nothing", async () => {
    connect({ retryPolicy: "at-most-once" });
    await untilReady(redis);
    fixture.proxy.isolate();
    const opened = codeOf(redis.multi({ pipeline: false }));
    await new Promise((resolve) => setImmediate(resolve));
    await reconnect();
    expect(await opened).to.equal("OUTCOME_UNKNOWN");
    await expectNothingOpen();
  });

  it("a MULTI that the server refuses opens nothing", async () => {
    await fixture.server.command("ACL", "SETUSER", "single", "on", "nopass", "~*", "+@all", "-multi");
    connect({ username: "single", password: "any" });
    try {
      expect(await codeOf(redis.multi({ pipeline: false }))).to.equal("REPLY");
      expect(await redis.set("refused:a", 1)).to.equal("OK");
      await reconnect();
      expect(await redis.set("refused:b", 1)).to.equal("OK");
    } finally {
      await fixture.server.command("ACL", "DELUSER", "single");
    }
  });

  it("what waits at the bounds behind a MULTI that fails does not run outside of it", async () => {
    fixture.proxy.refuse();
    connect({ maxRetriesPerRequest: 0, bounds: { maxCommands: 1 } });
    const calls = [redis.multi({ pipeline: false }), redis.incr("refused:n"), redis.exec()].map(codeOf);
    expect(await Promise.all(calls)).to.deep.equal(["MAX_RETRIES", "ABORTED", "ABORTED"]);
    fixture.proxy.heal();
    await untilReady(redis);
    expect(await redis.get("refused:n")).to.equal(null);
  });

  for (const part of ["multi", "member", "exec"] as const) {
    it(`a transaction whose ${part} is given up at the bounds does not run and is over`, async () => {
      connect({ bounds: { maxCommands: 1 } });
      await untilReady(redis);
      const abort = new AbortController();
      const view = (one: typeof part): Redis => (one === part ? redis.with({ signal: abort.signal }) : redis);
      const before = redis.echo("before");
      const calls = [
        view("multi").multi({ pipeline: false }),
        redis.incr("refused:n"),
        view("member").incr("refused:n"),
        view("exec").exec(),
      ].map(codeOf);
      abort.abort();
      expect(await before).to.equal("before");
      await Promise.all(calls);
      expect(await redis.echo("outside")).to.equal("outside");
      expect(await redis.get("refused:n")).to.equal(null);
    });
  }

  it("bounds do not keep a client from being left", async () => {
    for (const options of [undefined, { timeout: 5000 }]) {
      connect({ bounds: { maxCommands: 1, policy: "reject" } });
      await untilReady(redis);
      const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
      const waiting = redis.echo("before");
      const refused = codeOf(redis.echo("too many"));
      const left = options === undefined ? redis.quit() : redis.quit(options);
      const expected = options === undefined ? "OK" : { isDrained: true, unanswered: 0, unsent: 0 };
      expect(await left).to.deep.equal(expected);
      expect([await waiting, await refused]).to.deep.equal(["before", "BOUNDS_EXCEEDED"]);
      expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
    }
  });

  it("quit({ timeout }) closes the client also when QUIT is given up", async () => {
    connect({ commandTimeout: 20, watchdog: false });
    await untilReady(redis);
    fixture.proxy.isolate();
    const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
    await redis.quit({ timeout: 5000 });
    expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
  });

  for (const limit of ["commandTimeout", "timeout", "signal"] as const) {
    it(`a QUIT that was given up while it waited leaves the client open, ${limit}`, async () => {
      fixture.proxy.refuse();
      connect({ maxRetriesPerRequest: null, ...(limit === "commandTimeout" ? { commandTimeout: 20 } : {}) });
      const abort = new AbortController();
      const views = {
        commandTimeout: () => redis,
        timeout: () => redis.with({ timeout: 20 }),
        signal: () => redis.with({ signal: abort.signal }),
      };
      const waiting = codeOf(redis.with({ timeout: Number.POSITIVE_INFINITY }).set("refused:a", 1));
      const left = codeOf(views[limit]().quit());
      expect(await codeOf(redis.echo("behind QUIT"))).to.equal("CONNECTION_CLOSED");
      abort.abort();
      expect(await left).to.equal(limit === "signal" ? "ABORTED_BY_SIGNAL" : "COMMAND_TIMEOUT");
      fixture.proxy.heal();
      expect(await waiting).to.equal("fulfilled");
      await untilReady(redis);
      expect(await redis.incr("refused:n")).to.equal(1);
      const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
      expect(await redis.quit()).to.equal("OK");
      expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
    });
  }

  it("a QUIT behind a transaction that is refused leaves all the same", async () => {
    fixture.proxy.refuse();
    connect();
    const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
    const calls = [redis.multi({ pipeline: false }), redis.with({ timeout: 5 }).incr("refused:n")].map(
      codeOf,
    );
    const left = codeOf(redis.quit());
    expect(await calls[1]).to.equal("COMMAND_TIMEOUT");
    fixture.proxy.heal();
    expect(await left).to.equal("fulfilled");
    expect(await calls[0]).to.equal("ABORTED");
    expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
  });

  it("a QUIT that was dismissed behind a refused handshake has ended the client", async () => {
    await fixture.server.command("ACL", "SETUSER", "nobody", "on", ">right");
    try {
      connect({ username: "nobody", password: "wrong", maxRetriesPerRequest: null });
      const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
      const waiting = codeOf(redis.get("refused:a"));
      expect(await redis.quit()).to.equal("OK");
      expect(await waiting).to.equal("REPLY");
      expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
    } finally {
      await fixture.server.command("ACL", "DELUSER", "nobody");
    }
  });

  it("a QUIT that was dismissed behind what found no connection has ended the client", async () => {
    fixture.proxy.refuse();
    connect({ maxRetriesPerRequest: 0 });
    const ended = new Promise<string>((resolve) => redis.once("end", () => resolve("end")));
    const waiting = codeOf(redis.get("refused:a"));
    expect(await redis.quit()).to.equal("OK");
    expect(await waiting).to.equal("MAX_RETRIES");
    fixture.proxy.heal();
    expect(await outcomeOf(ended)).to.deep.equal(["fulfilled", "end"]);
  });
});
