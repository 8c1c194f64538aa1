import { inspect } from "node:util";
import { expect } from "chai";
import { Cluster as Peer } from "ioredis";
import {
  type ClusterOptions,
  defaultClusterOptions,
  parseStartupNode,
  resolveClusterOptions,
} from "../../../src/client/options/cluster-options";

type Options = Record<string, unknown>;

const ADDED = ["lazyConnect", "followCommandTips", "retryPolicy"];

function comparable(options: object): Options {
  const result: Options = {};
  for (const [name, value] of Object.entries(options)) {
    if (!ADDED.includes(name)) result[name] = typeof value === "function" ? "function" : value;
  }
  return result;
}

describe("resolveClusterOptions", () => {
  const cases: Options[] = [
    {},
    { maxRedirections: undefined, slotsRefreshInterval: undefined, unknownKey: 1 },
    { scaleReads: "slave", clusterRetryStrategy: null, enableOfflineQueue: false },
    { redisOptions: { keyPrefix: "p" } },
    { redisOptions: { keyPrefix: "p" }, keyPrefix: "" },
    { redisOptions: { keyPrefix: "p" }, keyPrefix: "q" },
    { himportFieldsets: [{ name: "a", fields: ["b"] }] },
  ];
  for (const given of cases) {
    it(`${inspect(given)} as the published API`, () => {
      const peer = new Peer([], { ...given, lazyConnect: true } as ConstructorParameters<typeof Peer>[1]);
      peer.disconnect();
      expect(comparable(resolveClusterOptions(given as ClusterOptions))).to.deep.equal(
        comparable(peer.options as object),
      );
    });
  }

  it("takes null for the default where a number is needed", () => {
    const given = { maxRedirections: null, slotsRefreshTimeout: null, retryDelayOnFailover: 0 };
    expect(resolveClusterOptions(given as unknown as ClusterOptions)).to.include({
      maxRedirections: 16,
      slotsRefreshTimeout: 1000,
      retryDelayOnFailover: 0,
    });
  });

  it("has the delays of the contract", () => {
    expect(defaultClusterOptions.clusterRetryStrategy?.(1)).to.equal(102);
    expect(defaultClusterOptions.clusterRetryStrategy?.(5000)).to.equal(2000);
  });

  it("refuses an unknown way to scale reads", () => {
    expect(() => resolveClusterOptions({ scaleReads: "zz" } as unknown as ClusterOptions)).to.throw(
      'Invalid option scaleReads "zz". Expected "all", "master", "slave", "replica", "nearest", "primary" or a custom function',
    );
    const choose = (): number => 0;
    expect(resolveClusterOptions({ scaleReads: choose }).scaleReads).to.equal(choose);
  });

  it("hides passwords from inspection only", () => {
    const options = resolveClusterOptions({ redisOptions: { password: "geheim" } });
    expect(inspect(options)).to.not.contain("geheim");
    expect(inspect(options.redisOptions)).to.not.contain("geheim");
    expect(options.redisOptions?.password).to.equal("geheim");
  });
});

describe("parseStartupNode", () => {
  const cases: [unknown, object][] = [
    [7000, { host: "127.0.0.1", port: 7000 }],
    ["7000", { host: "127.0.0.1", port: 7000 }],
    ["h:2", { host: "h", port: 2 }],
    ["redis://u:p@h:1/4", { host: "h", port: 1, username: "u", password: "p" }],
    ["rediss://h", { host: "h", port: 6379, tls: true }],
    ["redis://h/none?connectTimeout=7", { host: "h", port: 6379, connectTimeout: 7 }],
    [{}, { host: "127.0.0.1", port: 6379 }],
    [{ port: "3" }, { host: "127.0.0.1", port: 3 }],
    [
      { host: "h", db: 3, password: null, x: 1 },
      { host: "h", port: 6379, password: null, x: 1 },
    ],
  ];
  for (const [node, expected] of cases) {
    it(inspect(node), () => {
      expect(parseStartupNode(node)).to.deep.equal(expected);
    });
  }

  it("refuses other types", () => {
    for (const node of [true, null, undefined, 1n]) {
      expect(() => parseStartupNode(node)).to.throw(`Invalid argument ${String(node)}`);
    }
  });
});
