/** A name that is nearly one of ours is told of once; names of others are not. */

import { readFileSync } from "node:fs";
import { expect } from "chai";
import {
  type ClusterOptions,
  parseStartupNode,
  resolveClusterOptions,
} from "../../../src/client/options/cluster-options";
import { meantBy } from "../../../src/client/options/mistyped-options";
import { CLUSTER_OPTIONS, REDIS_OPTIONS } from "../../../src/client/options/option-table";
import type { RedisOptions } from "../../../src/client/options/redis-options";
import { resolveRedisOptions } from "../../../src/client/options/resolve-options";
import { openScan } from "../../../src/client/streaming/streams";
import type { ScanStreamSettings } from "../../../src/streaming/scan-stream";

type Names<Options> = { readonly [Name in keyof Required<Options>]: unknown };

/** They do not compile if a name is missing or unknown. */
const LISTS: readonly [Names<RedisOptions>, Names<ClusterOptions>] = [REDIS_OPTIONS, CLUSTER_OPTIONS];

async function warningsOf(work: () => void): Promise<(Error & { code?: string })[]> {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on("warning", onWarning);
  work();
  await new Promise(setImmediate);
  process.off("warning", onWarning);
  return warnings;
}

/** The names in the first column of the tables. */
function documented(): string[] {
  const rows = readFileSync("docs/options.md", "utf8").matchAll(/^\| `(\w+)` \|/gm);
  return [...rows].map(([, name]) => name as string);
}

describe("mistyped options", () => {
  it("are told of once, with the name that is meant", async () => {
    const make = (): void => {
      resolveRedisOptions([{ maxRetriesPerRequests: 1 }, { autoPipelining: true }]);
      resolveClusterOptions({ redisOptions: { comandTimeout: 5 } as object });
    };
    const warnings = await warningsOf(make);
    expect(warnings.map(({ code }) => code)).to.deep.equal(new Array(3).fill("SLUICE_UNKNOWN_OPTION"));
    const text = warnings.map(({ message }) => message).join("\n");
    expect(text).to.include('"maxRetriesPerRequests" is unknown and has no effect; "maxRetriesPerRequest"');
    expect(text).to.include('"autoPipelining" is unknown and has no effect; "enableAutoPipelining"');
    expect(text).to.include('"comandTimeout" is unknown and has no effect; "commandTimeout"');
    expect(await warningsOf(make)).to.deep.equal([]);
  });

  it("are named for the habits of node-redis: limits of calls, and scans in capital letters", async () => {
    const warnings = await warningsOf(() => {
      resolveRedisOptions([{ commandOptions: { timeout: 5 } } as object]);
      openScan({ command: "scan", redis: {}, MATCH: "a*", count: 5 } as ScanStreamSettings).destroy();
    });
    expect(warnings.map(({ message }) => message)).to.deep.equal([
      'The option "commandOptions" is unknown and has no effect; "commandTimeout" is probably meant',
      'The option "MATCH" is unknown and has no effect; "match" is probably meant',
    ]);
  });

  it("are named for names of older clients, and for TLS that would be missing", async () => {
    const given = { auth_pass: "p", isolationPoolOptions: {}, max_attempts: 3, ssl: true, tlsOptions: {} };
    const warnings = await warningsOf(() => void resolveRedisOptions([given as object]));
    expect(warnings.map(({ message }) => /"(\w+)" is probably meant/.exec(message)?.[1])).to.deep.equal([
      "password",
      "leases",
      "retryStrategy",
      "tls",
      "tls",
    ]);
  });

  it("name the option of this client in the place of another client's", async () => {
    const foreign: [options: object, meant: string][] = [
      [{ url: "redis://example.org" }, "new Redis(url, options)"],
      [{ socket: { host: "example.org" } }, "host, port, path, tls"],
      [{ database: 3 }, '"db"'],
      [{ RESP: 3 }, '"protocol"'],
      [{ timeout: 5 }, '"commandTimeout"'],
      [{ maxRetries: 5 }, '"maxRetriesPerRequest"'],
      [{ clientSideCache: {} }, '"cache"'],
      [{ reconnectStrategy: () => 5 }, '"retryStrategy"'],
      [{ disableOfflineQueue: true }, '"enableOfflineQueue"'],
      [{ commandsQueueMaxLength: 5 }, '"bounds"'],
      [{ pass: "a" }, '"password"'],
      [{ user: "a" }, '"username"'],
      [{ prefix: "a:" }, '"keyPrefix"'],
      [{ maintNotifications: "auto" }, '"maintenance"'],
      [{ pasword: "a" }, '"password"'],
      [{ usrname: "a" }, '"username"'],
      [{ TLS: {} }, '"tls"'],
      [{ maxRetryPerRequest: 3 }, '"maxRetriesPerRequest"'],
    ];
    for (const [options, meant] of foreign) {
      const [warning] = await warningsOf(() => void resolveRedisOptions([options]));
      const [name] = Object.keys(options);
      expect(warning?.message, name).to.include(`"${name}" is unknown`).and.to.include(meant);
    }
  });

  it("have values of the wrong type: text counts as true, or is not a number", async () => {
    const make = (): void => {
      resolveRedisOptions([{ lazyConnect: "false", keepAlive: "5s", disconnectTimeout: "100" } as object]);
      resolveClusterOptions({ shardedSubscribers: "no", retryDelayOnFailover: "1s" } as object);
    };
    const warnings = await warningsOf(make);
    expect(warnings.map(({ code }) => code)).to.deep.equal(new Array(4).fill("SLUICE_INVALID_OPTION"));
    expect(warnings.map(({ message }) => message)).to.have.members([
      'The option "lazyConnect" is a string, which counts as true; pass true or false',
      'The option "keepAlive" is "5s", which is not a number',
      'The option "shardedSubscribers" is a string, which counts as true; pass true or false',
      'The option "retryDelayOnFailover" is "1s", which is not a number',
    ]);
    expect(await warningsOf(make)).to.deep.equal([]);
    const right = { readOnly: "true", noDelay: "", enableReadyCheck: 0, keepAlive: "5000" } as object;
    expect(await warningsOf(() => void resolveRedisOptions([right]))).to.deep.equal([]);
  });

  it("are found in the startup nodes of a cluster", async () => {
    const [warning] = await warningsOf(() => void parseStartupNode({ connectionString: "redis://a:1" }));
    expect(warning?.message).to.include('"connectionString"').and.to.include("new Cluster([url], options)");
  });

  it("are found in the place of a host, in startup nodes and Sentinels", async () => {
    const make = (): void => {
      parseStartupNode({ hst: "example.org", port: 7000 });
      const sentinels = [{ hots: "example.org" }, { hos: "example.org" }] as object[];
      resolveRedisOptions([{ sentinels, name: "mymaster" }]);
      resolveRedisOptions([{ hostname: "example.org" }]);
    };
    const warnings = await warningsOf(make);
    expect(warnings.map(({ message }) => message)).to.deep.equal(
      ["hst", "hos", "hostname"].map(
        (name) => `The option "${name}" is unknown and has no effect; "host" is probably meant`,
      ),
    );
    const own = { host: "example.org", hostname: "a", hosts: [], post: 5 };
    expect(await warningsOf(() => void parseStartupNode(own))).to.deep.equal([]);
  });

  it("are none of the options that the types know", () => {
    const names = LISTS.flatMap((list) => Object.keys(list));
    expect(names.filter((name) => meantBy(name) !== undefined)).to.deep.equal([]);
  });

  it("say that an option of a node stands in redisOptions", async () => {
    const [warning] = await warningsOf(() => void resolveClusterOptions({ connectTimeout: 5 } as object));
    expect(warning?.message).to.include('"connectTimeout"').and.to.include("redisOptions");
  });

  it("are not the time limits of commands, which a cluster client also reads itself", async () => {
    const limits = { commandTimeout: 5, blockingTimeout: 5, blockingTimeoutGrace: 5 };
    expect(await warningsOf(() => void resolveClusterOptions(limits as object))).to.deep.equal([]);
  });

  it("are none of the names that are documented, and none that programs give their own things", async () => {
    const others = (
      "tags logger metrics nodes hosts names retries skipVersionCheck isGlobal closeClient readyLog errorLog " +
      "namespace onClientReady"
    ).split(" ");
    const names = [...documented(), ...others];
    expect(documented()).to.have.length.above(80);
    expect(names.filter((name) => meantBy(name) !== undefined)).to.deep.equal([]);
    const own = Object.fromEntries(others.map((name) => [name, true]));
    const besides = { url: "redis://example.org", host: "example.org", socket: {}, timeout: undefined };
    const expected = await warningsOf(() => void resolveRedisOptions([{ ...own, ...besides }]));
    expect(expected).to.deep.equal([]);
  });
});
