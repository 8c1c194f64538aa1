/** A name that is nearly one of ours is told of once; names of others are not. */

import { readFileSync } from "node:fs";
import { expect } from "chai";
import { resolveClusterOptions } from "../../../src/client/options/cluster-options";
import { meantBy } from "../../../src/client/options/mistyped-options";
import { resolveRedisOptions } from "../../../src/client/options/resolve-options";

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

  it("name a second client in the place of connections for large values", async () => {
    const [warning] = await warningsOf(
      () => void resolveRedisOptions([{ connections: { bulk: 1 } } as object]),
    );
    expect(warning?.message).to.include('"connections" is unknown').and.to.include("redis.duplicate()");
    expect(await warningsOf(() => void resolveRedisOptions([{ connections: 5 } as object]))).to.deep.equal(
      [],
    );
  });

  it("are none of the names that are documented, and none that programs give their own things", async () => {
    const others = [
      ..."url tags logger metrics nodes hosts names retries timeout database skipVersionCheck isGlobal".split(
        " ",
      ),
      ..."closeClient readyLog errorLog namespace onClientReady maxRetries connectionString".split(" "),
      ..."keepAliveInitialDelay disableOfflineQueue commandsQueueMaxLength pingInterval socket".split(" "),
    ];
    const names = [...documented(), ...others];
    expect(documented()).to.have.length.above(80);
    expect(names.filter((name) => meantBy(name) !== undefined)).to.deep.equal([]);
    const options = Object.fromEntries(others.map((name) => [name, undefined]));
    expect(await warningsOf(() => void resolveRedisOptions([options]))).to.deep.equal([]);
  });
});
