import { inspect } from "node:util";
import { expect } from "chai";
import Peer from "ioredis";
import { defaultOptions } from "../../../src/client/options/redis-options";
import { resolveRedisOptions } from "../../../src/client/options/resolve-options";

type Options = Record<string, unknown>;

/** Options that the published API does not have. */
const ADDED = [
  "retryPolicy",
  "maxLossesPerCommand",
  "blockingConnections",
  "watchdog",
  "maintenance",
  "highWaterBytes",
  "flushPolicy",
  "lazyConnect",
];

function resolve(...args: unknown[]): Options {
  return resolveRedisOptions(args) as Options;
}

function differences(options: Options): Options {
  const changed: Options = {};
  const defaults = defaultOptions as Options;
  for (const [name, value] of Object.entries(options)) {
    const isSame = Array.isArray(value) || Object.is(value, defaults[name]);
    if (!isSame) changed[name] = value;
  }
  return changed;
}

/** The options that the published package makes of the same arguments. */
function resolveByPeer(args: unknown[]): Options {
  const PeerClass = Peer as unknown as new (...args: unknown[]) => { options: Options; disconnect(): void };
  const peer = new PeerClass(...args, { lazyConnect: true });
  peer.disconnect();
  return peer.options;
}

function withoutAdded(options: Options): Options {
  const comparable: Options = {};
  for (const [name, value] of Object.entries(options)) {
    if (ADDED.includes(name)) continue;
    comparable[name] = typeof value === "function" ? "function" : value;
  }
  return comparable;
}

const DEFAULT_CASES: unknown[][] = [
  [],
  [6380],
  [0],
  [6380, "h"],
  [6380, { host: "x" }],
  [6380, { host: "x", port: 1 }],
  [6380, "h", { db: 3 }],
  [6380, "h", { db: "3", host: "z" }],
  ["h", 6380],
  ["6380"],
  [" 6380 "],
  ["h:123"],
  ["h"],
  ["h:"],
  ["h?db=1"],
  ["u:p@h:1"],
  ["@h"],
  ["[::1]:7"],
  ["/run/redis.sock"],
  ["/run/redis.sock?db=2&password=z"],
  ["/run/redis.sock", { db: 4 }],
  ["redis://user:p%40ss@hh:12/3"],
  ["redis://:pw@h"],
  ["redis://u@h"],
  ["redis://u:@h"],
  ["redis://u%3Ax:a%2Fb@h"],
  ["redis://h:0"],
  ["redis://H:1"],
  ["redis://1.2.3.4"],
  ["redis://[::1]:1"],
  ["redis://h#x"],
  ["redis://h/3/4"],
  ["redis://h/"],
  ["redis://"],
  ["redis:///2"],
  ["rediss://h"],
  ["rediss://h", { tls: { servername: "x" } }],
  ["rediss://h", { tls: false }],
  ["rediss://h", { tls: undefined }],
  ["//u:p@h:1/3"],
  ["REDIS://h:3/4"],
  ["redis://h?family=6&db=7&foo=bar&password=x"],
  ["redis://h:1/3?db=7&port=9&host=q&password=zz&username=b"],
  ["redis://h/3", { db: 9, port: 8, host: "q", password: "x" }],
  ["redis://h?path=/a&keyPrefix=p%3A&name=group"],
  ["redis://h?a=1&a=2"],
  ["redis://h?__proto__=x"],
  ["redis://h", 99],
  [""],
  [null],
  [undefined],
  [null, "h"],
  [6380, null, { db: 1 }],
  [1, 2, 3],
  [{ port: 5 }, 6],
  [{}, {}],
  [
    { port: "7", db: "2", first: 1 },
    { port: 8, second: 2 },
  ],
  [{ host: undefined, password: undefined, maxRetriesPerRequest: undefined }],
  [{ path: null, password: null, retryStrategy: null, maxRetriesPerRequest: null, db: null }],
  [{ tls: true }],
  [{ keyPrefix: Buffer.from("a"), skipVersionCheck: true }],
  [Object.create({ host: "inherited" })],
  [JSON.parse('{"__proto__":{"host":"evil"}}')],
  [{ sentinels: [{ host: "s" }], name: "group", role: "slave" }],
  [{ protocol: 2, stringNumbers: true }],
  [{ himportFieldsets: [{ name: "a", fields: ["b", Buffer.from("c")] }] }],
];

describe("resolveRedisOptions", () => {
  for (const args of DEFAULT_CASES) {
    it(`${inspect(args, { breakLength: Number.POSITIVE_INFINITY })} as the published API`, () => {
      const ours = resolveRedisOptions([...args, { lazyConnect: true }]) as Options;
      // Not told otherwise, a client of a master listens to one sentinel.
      const published = { ...resolveByPeer(args), failoverDetector: undefined };
      expect(withoutAdded(ours)).to.deep.equal(withoutAdded(published));
    });
  }

  it("has every default of the published API", () => {
    const names = Object.keys(resolveByPeer([]));
    expect(names.filter((name) => !(name in defaultOptions))).to.deep.equal([]);
  });

  it("has the delays of the contract", () => {
    const { retryStrategy, sentinelRetryStrategy, sentinelReconnectStrategy } = defaultOptions;
    for (const [times, base] of [
      [1, 50],
      [2, 100],
      [7, 3200],
      [8, 5000],
      [100, 5000],
    ] as const) {
      const delay = retryStrategy?.(times) as number;
      expect(delay)
        .to.be.at.least(base)
        .and.at.most(base + 199);
      expect(Number.isInteger(delay)).to.equal(true);
    }
    expect(sentinelRetryStrategy?.(3)).to.equal(30);
    expect(sentinelRetryStrategy?.(1000)).to.equal(1000);
    expect(sentinelReconnectStrategy?.(1)).to.equal(60_000);
  });

  it("neither changes nor keeps what is passed in", () => {
    const passed = Object.freeze({ port: 1, custom: "x", autoPipeliningIgnoredCommands: ["get"] });
    const options = resolve(passed);
    expect(options).to.not.equal(passed);
    expect(Object.isFrozen(options)).to.equal(false);
    (options["autoPipeliningIgnoredCommands"] as string[]).push("set");
    expect(passed.autoPipeliningIgnoredCommands).to.deep.equal(["get"]);
    (resolve()["autoPipeliningIgnoredCommands"] as string[]).push("set");
    expect(resolve()["autoPipeliningIgnoredCommands"]).to.deep.equal([]);
    expect(Object.keys(defaultOptions)).to.not.include("custom");
  });

  it("takes its own result again, as duplicate() does", () => {
    const first = resolve("rediss://u:p@h:1/2?family=4", { himportFieldsets: [{ name: "a", fields: [] }] });
    expect(resolve({ ...first })).to.deep.equal(first);
  });

  it("refuses other types", () => {
    for (const value of [true, false, 10n, Symbol("s"), () => 1]) {
      expect(() => resolve(value)).to.throw(`Invalid argument ${String(value)}`);
    }
  });

  describe("better than the published API", () => {
    const cases: [unknown[], Options][] = [
      [["REDISS://h"], { host: "h", tls: true }],
      [["valkey://h:1/2"], { host: "h", port: 1, db: 2 }],
      [["valkeys://h"], { host: "h", tls: true }],
      [["h:12/3"], { host: "h", port: 12, db: 3 }],
      [["unix:///run/a%20b.sock?db=2"], { path: "/run/a b.sock", db: 2 }],
      [["./redis.sock"], { path: "./redis.sock" }],
      [["::1"], { host: "::1" }],
      [["redis://u:100%@h"], { host: "h", username: "u", password: "100%" }],
      [["redis://u:p@ss^%@h"], { host: "h", username: "u", password: "p@ss^%" }],
      [["redis://h:1\n"], { host: "h", port: 1 }],
      [
        ["redis://h?enableReadyCheck=false&connectTimeout=5&lazyConnect=1&maxRetriesPerRequest=null"],
        {
          host: "h",
          enableReadyCheck: false,
          connectTimeout: 5,
          lazyConnect: true,
          maxRetriesPerRequest: null,
        },
      ],
      [["redis://h?protocol=3&replyMapping=resp3"], { host: "h", replyMapping: "resp3" }],
      [["redis://h?commandTimeout=100&tls=true"], { host: "h", commandTimeout: 100, tls: true }],
      [["rediss://h?tls=false"], { host: "h", tls: false }],
      [
        ["redis://h?retryStrategy=null&sentinelRetryStrategy=null"],
        { host: "h", retryStrategy: null, sentinelRetryStrategy: null },
      ],
      [["redis://h?connectionName=7&password=1"], { host: "h", connectionName: "7", password: "1" }],
      [[{ db: Number.NaN }], {}],
      [[{ db: "" }], {}],
    ];
    for (const [args, expected] of cases) {
      it(inspect(args, { breakLength: Number.POSITIVE_INFINITY }), () => {
        expect(differences(resolve(...args))).to.deep.equal(expected);
      });
    }

    const refused: [unknown[], RegExp][] = [
      [["redis://h/abc"], /Invalid db "abc"/],
      [["redis://h?db=x"], /Invalid db "x"/],
      [[{ db: "3abc" }], /Invalid db "3abc"/],
      [[{ port: "" }], /Invalid port ""/],
      [["http://h:1"], /Unsupported scheme "http:"/],
      [["redis://h?lazyConnect=maybe"], /Invalid lazyConnect "maybe"/],
      [["redis://h?connectTimeout=soon"], /Invalid connectTimeout "soon"/],
      [[{ tls: "RedisCloudFixed" }], /tls: \{ ca \}/],
      [[{ tls: { profile: "RedisCloudFlexible" } }], /tls: \{ ca \}/],
      [
        [{ replyMapping: "resp3", protocol: 2 }],
        /^The "resp3" replyMapping is only supported with protocol 3$/,
      ],
    ];
    for (const [args, message] of refused) {
      it(`refuses ${inspect(args)}`, () => {
        expect(() => resolve(...args)).to.throw(Error, message);
      });
    }
  });

  it("reads the items of a query as values of their options", () => {
    const query =
      "readYourWrites=500&strictArguments=false&cache=1&watchdog=false&maintenance=false&flushPolicy=turn" +
      "&enableAutoPipelining=adaptive&retryStrategy=null&maxRetriesPerRequest=null&keyPrefix=null";
    expect(resolve(`redis://example.org?${query}`)).to.include({
      readYourWrites: 500,
      strictArguments: false,
      cache: true,
      watchdog: false,
      maintenance: false,
      flushPolicy: "turn",
      enableAutoPipelining: "adaptive",
      retryStrategy: null,
      maxRetriesPerRequest: null,
      keyPrefix: "null",
    });
  });

  it("refuses malformed addresses without showing them", () => {
    for (const text of [
      "redis://u:geheim@h:bad",
      "redis://u:ge#heim@h",
      "redis://:geheim/x@h:1",
      "u:geheim@h:x",
    ]) {
      try {
        resolve(text);
        expect.fail("accepted");
      } catch (error) {
        expect(error).to.be.instanceOf(TypeError);
        expect((error as { code: string }).code).to.equal("ERR_INVALID_URL");
        expect(inspect(error)).to.not.match(/geheim|heim/);
      }
    }
  });

  it("copies and freezes fieldsets, and checks them", () => {
    const field = Buffer.from("f");
    const given = [{ name: "a", fields: [field] }];
    const copied = resolve({ himportFieldsets: given })["himportFieldsets"] as typeof given;
    expect(copied).to.deep.equal(given);
    expect(copied[0]?.fields[0]).to.not.equal(field);
    expect(
      Object.isFrozen(copied) && Object.isFrozen(copied[0]) && Object.isFrozen(copied[0]?.fields),
    ).to.equal(true);
    const broken: [unknown, string][] = [
      [null, "himportFieldsets must be an array"],
      [[1], "Each HIMPORT fieldset must be an object"],
      [[{}], "Each HIMPORT fieldset name must be a string or Buffer"],
      [[{ name: "a" }], "Each HIMPORT fieldset fields value must be an array"],
      [[{ name: "a", fields: [1] }], "Each HIMPORT field must be a string or Buffer"],
      [
        [
          { name: "a", fields: [] },
          { name: Buffer.from("a"), fields: [] },
        ],
        "Duplicate HIMPORT fieldset name",
      ],
    ];
    for (const [value, message] of broken) {
      expect(() => resolve({ himportFieldsets: value })).to.throw(TypeError, message);
    }
  });

  it("is shown without its secrets", () => {
    const options = resolve("redis://u:geheim@h", {
      tls: { key: "geheim", ca: "visible" },
      sentinelPassword: "geheim",
    });
    expect(inspect({ options }, { depth: 5 }))
      .to.match(/password: '\*\*\*'/)
      .and.match(/visible/)
      .and.not.match(/geheim/);
    expect(options["password"]).to.equal("geheim");
    expect(JSON.parse(JSON.stringify(options)).password).to.equal("geheim");
  });
});
