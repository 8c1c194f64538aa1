/** Values of options that would hang the client are refused when it is made; arguments, when asked for. */

import { expect } from "chai";
import { Cluster, Redis } from "../../src/index";
import { failureOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

const REFUSED: readonly (readonly [options: object, message: RegExp])[] = [
  [{ bounds: { maxCommands: 0 } }, /^Invalid option bounds\.maxCommands 0: expected a number of at least 1$/],
  [{ bounds: { maxCommands: Number.NaN } }, /bounds\.maxCommands NaN/],
  [{ bounds: { maxBytes: -1 } }, /bounds\.maxBytes -1/],
  [{ bounds: { maxBytes: "1" } }, /bounds\.maxBytes "1"/],
  [{ maintenance: "yes" }, /maintenance "yes": expected one of "auto", "on", false/],
  [{ bounds: { policy: "drop" } }, /bounds\.policy "drop": expected one of "wait", "reject"/],
  [{ enableAutoPipelining: { maxInFlight: 0 } }, /enableAutoPipelining\.maxInFlight 0/],
  [{ enableAutoPipelining: { maxCommands: 0 } }, /enableAutoPipelining\.maxCommands 0/],
  [{ enableAutoPipelining: { maxBytes: Number.NaN } }, /enableAutoPipelining\.maxBytes NaN/],
  [{ highWaterBytes: 0 }, /highWaterBytes 0/],
  [{ flushPolicy: "soon" }, /flushPolicy "soon"/],
  [{ maxLossesPerCommand: Number.NaN }, /maxLossesPerCommand NaN/],
  [{ blockingConnections: -1 }, /blockingConnections -1/],
  [{ watchdog: { idleMs: Number.NaN } }, /watchdog\.idleMs NaN/],
  [{ retryPolicy: "never" }, /retryPolicy "never"/],
  [{ bounds: { maxCommand: 5 } }, /bounds\.maxCommand: expected one of maxCommands, maxBytes, policy/],
  [{ bounds: 5 }, /bounds 5: expected an object/],
  [{ enableAutoPipelining: { merg: true } }, /enableAutoPipelining\.merg: expected one of/],
  [
    { enableAutoPipelining: "yes" },
    /enableAutoPipelining "yes": expected true or false or "adaptive" or an object/,
  ],
  [{ cache: 5 }, /cache 5: expected true or false or an object/],
  [{ cache: { maxsize: 5 } }, /cache\.maxsize: expected one of maxBytes/],
  [{ watchdog: { idle: 5 } }, /watchdog\.idle: expected one of idleMs/],
  [{ protocol: 4 }, /protocol 4: expected one of 2, 3/],
  [{ commandTimeout: "100" }, /commandTimeout "100": expected a number/],
  [{ commandTimeout: Number.NaN }, /commandTimeout NaN: expected a number/],
  [{ commandTimeout: -1 }, /commandTimeout -1: expected a number of at least 0$/],
  [{ socketTimeout: -1 }, /socketTimeout -1: expected a number of at least 0$/],
  [{ sentinelCommandTimeout: -1 }, /sentinelCommandTimeout -1: expected a number of at least 0$/],
  [{ connectTimeout: "5s" }, /connectTimeout "5s": expected a number of at least 0$/],
  [{ connectTimeout: -1 }, /connectTimeout -1: expected a number of at least 0$/],
  [{ replyMapping: "resp2" }, /replyMapping "resp2": expected one of "legacy", "resp3"/],
  [{ maxRetriesPerRequest: "3" }, /maxRetriesPerRequest "3": expected a number/],
  [{ cache: { ttl: 0 } }, /cache\.ttl 0: expected "server" or a number of at least 1/],
  [{ cache: { match: 5 } }, /cache\.match: expected prefixes of keys, or a function/],
  [{ cache: { match: () => true, mode: "broadcast" } }, /cache\.match: expected prefixes of keys$/],
  [{ credentials: "secret" }, /^Invalid option credentials \*+: expected a function$/],
  [{ sentinelCredentials: "secret" }, /^Invalid option sentinelCredentials \*+: expected a function$/],
  [{ retryStrategy: 5 }, /retryStrategy 5: expected a function/],
];

describe("options of our own", () => {
  const fixture = new ServerFixture().install();

  for (const [options, message] of REFUSED) {
    it(`${String(message)} is refused`, () => {
      const refused = (make: () => unknown): void => {
        expect(make).to.throw(message).with.property("code", "INVALID_OPTION");
      };
      refused(() => new Redis({ lazyConnect: true, ...options }));
      refused(() => new Cluster([{}], { lazyConnect: true, redisOptions: options }));
    });
  }

  it("collaborators and lists of the wrong type are refused", () => {
    const sentinels = "127.0.0.1:26379" as never;
    expect(() => new Redis({ lazyConnect: true, sentinels, name: "mymaster" }))
      .to.throw('Invalid option sentinels "127.0.0.1:26379": expected a list')
      .with.property("code", "INVALID_OPTION");
    expect(() => new Redis({ lazyConnect: true, Connector: 5 as never }))
      .to.throw("Invalid option Connector 5: expected a function")
      .with.property("code", "INVALID_OPTION");
    expect(() => new Cluster([{}], { lazyConnect: true, dnsLookup: 5 as never }))
      .to.throw("Invalid option dnsLookup 5: expected a function")
      .with.property("code", "INVALID_OPTION");
    const role = "replica" as never;
    expect(() => new Redis({ lazyConnect: true, sentinels: [{ port: 1 }], name: "mymaster", role }))
      .to.throw('Invalid option role "replica": expected "master" or "slave"')
      .with.property("code", "INVALID_OPTION");
    expect(() => new Cluster([{}], { lazyConnect: true, slotsRefreshTimeout: -1 }))
      .to.throw("Invalid option slotsRefreshTimeout -1: expected a number of at least 0")
      .with.property("code", "INVALID_OPTION");
  });

  it("a number as key prefix is text, as in ioredis", async () => {
    const redis = fixture.connect({ keyPrefix: 5 as never });
    await redis.set(":prefixed", "a");
    expect(await fixture.connect().get("5:prefixed")).to.equal("a");
  });

  it("what means nothing is no bound", async () => {
    const redis = fixture.connect({
      bounds: { maxCommands: Number.POSITIVE_INFINITY },
      enableAutoPipelining: { maxInFlight: "adaptive" },
      keyPrefix: null as never,
      connectTimeout: Number.NaN,
      role: "worker" as never,
    });
    await redis.set("checked:a", 1);
    expect(await redis.pipeline().get("checked:a").exec()).to.deep.equal([[null, "1"]]);
    const none = fixture.connect({ bounds: null as never });
    expect(await none.get("checked:a")).to.equal("1");
  });

  const loose: readonly (readonly [value: unknown, reason: RegExp])[] = [
    [undefined, /Argument 2 of "set" cannot be sent: it is undefined/],
    [null, /Argument 2 of "set" cannot be sent: it is null/],
    [Number.NaN, /it is NaN/],
    [{ a: 1 }, /plain object/],
    [Promise.resolve("a"), /promise; await it/],
  ];
  for (const [value, reason] of loose) {
    it(`strictArguments: ${String(reason)}`, async () => {
      const strict = fixture.connect({ strictArguments: true });
      const other = fixture.connect();
      for (const call of [strict.set("k", value as string), strict.call("set", "k", value as string)]) {
        const error = await failureOf(call);
        expect(error.message).to.match(reason);
        expect(error.code).to.equal("INVALID_ARGUMENT");
      }
      const rows = await strict
        .pipeline()
        .set("k", value as string)
        .ping()
        .exec();
      expect(rows?.[0]?.[0]?.message).to.match(reason);
      expect(rows?.[1]).to.deep.equal([null, "PONG"]);
      const [[bulkError] = [null]] = await rowsOf(strict.bulk([["set", "k", value]]));
      expect(bulkError?.message).to.match(reason);
      expect(await fixture.control.exists("k")).to.equal(0);
      expect(await other.set("k", value as string)).to.equal("OK");
    });
  }

  it("strictArguments looks at the arguments of scripts too", async () => {
    type Echo = (key: string, value: unknown) => Promise<unknown>;
    const lua = "return ARGV[1]";
    const strict = fixture.connect({ strictArguments: true, scripts: { echo: { lua, numberOfKeys: 1 } } });
    const { echo } = strict as unknown as { echo: Echo };
    expect(await echo.call(strict, "k", "v")).to.equal("v");
    for (const [value, reason] of loose) {
      const error = await failureOf(echo.call(strict, "k", value));
      expect(error.message).to.match(new RegExp(reason.source.replace('"set"', '"evalsha"')));
      expect(error.code).to.equal("INVALID_ARGUMENT");
      const pipeline = strict.pipeline() as unknown as { echo: Echo; exec(): Promise<[Error | null][]> };
      pipeline.echo("k", value);
      expect((await pipeline.exec())[0]?.[0]?.message).to.equal(error.message);
    }
  });

  it("strictArguments takes what has a text", async () => {
    const strict = fixture.connect({ strictArguments: true });
    await strict.hset("h", { a: 1, b: "2" });
    await strict.hset("h", new Map([["c", 3]]));
    await strict.set("d", Buffer.from("x"));
    await strict.set("t", new Date(0) as never);
    await strict.mset(["x", 1, "y", true]);
    expect(await strict.hgetall("h")).to.deep.equal({ a: "1", b: "2", c: "3" });
    expect((await failureOf(strict.hset("h", { a: undefined as never }))).message).to.match(
      /it is undefined/,
    );
  });
});

async function rowsOf(
  bulk: AsyncIterable<readonly [Error | null, unknown?]>,
): Promise<(readonly [Error | null, unknown?])[]> {
  const rows: (readonly [Error | null, unknown?])[] = [];
  for await (const row of bulk) rows.push(row);
  return rows;
}
