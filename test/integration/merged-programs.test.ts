/** Guarantee: whatever a program does, merging changes neither what its callers are told nor what it leaves behind. */

import { expect } from "chai";
import fc from "fast-check";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { closeClient, untilReady } from "../support/matrix";
import { ALL_MERGEABLE, contentOf, outcomesOf, type Program, programsOn } from "../support/merged-programs";
import { fixedRuns } from "../support/properties";
import { serverKinds, sharedServer } from "../support/shared-servers";

const LONG = process.env.SLUICE_LONG === "1";
/** In the long form a hundred thousand on three servers. */
const PROGRAMS = 334;
const SHRINKING_MS = 60_000;

const KEYS = ["k", "l", Buffer.from("k"), "ö", Buffer.from([0xfe, 1])];
const SHAPES: readonly RedisOptions[] = [
  { protocol: 2 },
  { protocol: 3, keyPrefix: "p:" },
  { protocol: 3, replyMapping: "resp3" },
  { protocol: 3, stringNumbers: true },
];

/** Two clients of the same options, one of which merges; each has a database of its own. */
class Pair {
  readonly merged: Redis;
  readonly plain: Redis;

  constructor(
    server: ServerProcess,
    options: RedisOptions,
    private readonly control: Redis,
    coalesce: boolean,
  ) {
    const { host, port } = server;
    const merge = [...ALL_MERGEABLE];
    this.merged = new Redis({ host, port, ...options, db: 1, enableAutoPipelining: { merge, coalesce } });
    this.plain = new Redis({ host, port, ...options, db: 2, enableAutoPipelining: true });
  }

  get clients(): Redis[] {
    return [this.merged, this.plain];
  }

  async run(program: Program): Promise<void> {
    await this.control.flushall();
    const merged = await outcomesOf(this.merged, program, true);
    const plain = await outcomesOf(this.plain, program, false);
    expect(merged).to.deep.equal(plain);
    expect(await this.contentIn(1)).to.deep.equal(await this.contentIn(2));
  }

  private async contentIn(db: number): Promise<unknown[]> {
    await this.control.select(db);
    return contentOf(this.control);
  }
}

async function callsOf(control: Redis, name: string): Promise<number> {
  const text = await control.info("commandstats");
  return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(text)?.[1] ?? 0);
}

describe("programs with merged commands", function () {
  this.timeout(LONG ? 7_200_000 : 120_000);
  const clients: Redis[] = [];
  before(() => Promise.all(serverKinds().map(sharedServer)));
  afterEach(() => Promise.all(clients.splice(0).map(closeClient)));

  for (const kind of serverKinds()) {
    it(`${kind}: callers are told the same, and the same is left behind`, async () => {
      const server = await sharedServer(kind);
      const control = new Redis({ host: server.host, port: server.port });
      clients.push(control);
      await control.config("RESETSTAT");
      const pairs = SHAPES.map((shape, index) => new Pair(server, shape, control, index % 2 === 1));
      for (const pair of pairs) clients.push(...pair.clients);
      await Promise.all(clients.map(untilReady));
      let firstFailureMs = Number.POSITIVE_INFINITY;
      await fc.assert(
        fc.asyncProperty(programsOn(KEYS), fc.nat(SHAPES.length - 1), async (program, shape) => {
          if (performance.now() - firstFailureMs > SHRINKING_MS) return;
          try {
            await (pairs[shape] as Pair).run(program);
          } catch (error) {
            firstFailureMs = Math.min(firstFailureMs, performance.now());
            throw error;
          }
        }),
        fixedRuns(PROGRAMS) as fc.Parameters<[Program, number]>,
      );
      for (const name of ["mget", "mset", "hmget", "smismember", "zmscore"]) {
        const calls = await callsOf(control, name);
        console.log(`      ${calls} ${name}`);
        expect(calls, name).to.be.greaterThan(10);
      }
    });
  }
});
