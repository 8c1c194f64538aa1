/**
 * `reconnectOnError` that returns 2 for the error of a member of a transaction, or of its EXEC.
 * Sent again alone, a member would run outside of its transaction; sent again alone, an EXEC could
 * only fail. The client reconnects, and every call settles with its error.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { Cluster, Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { untilReady } from "../support/matrix";
import { errorOf, type Failure, outcomeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

type Client = Redis | Cluster;

/** The error of the whole transaction, and those of its calls. */
interface Ending {
  readonly exec: Failure | null;
  readonly calls: readonly (Failure | null)[];
}

const KEY = "{tx}:balance";
const OTHER = "{tx}:log";

/** Refused: the user has no right to INCR. */
const forms: Record<string, (client: Client) => Promise<Ending>> = {
  chained: async (client) => {
    const exec = await errorOf(client.multi().decrby(KEY, 10).incr(OTHER).decrby(KEY, 10).exec());
    return { exec, calls: [] };
  },
  array: async (client) => {
    const commands = [
      ["decrby", KEY, 10],
      ["incr", OTHER],
      ["decrby", KEY, 10],
    ];
    return { exec: await errorOf(client.multi(commands as [string][]).exec()), calls: [] };
  },
  "inline in a pipeline": async (client) => {
    const pipeline = client.pipeline().multi().decrby(KEY, 10).incr(OTHER).decrby(KEY, 10).exec();
    const rows = (await pipeline.exec()) as [Failure | null, unknown][];
    return { exec: rows[4]?.[0] ?? null, calls: rows.slice(0, 4).map(([error]) => error) };
  },
  "with callbacks": async (client) => {
    const calls: (Failure | null)[] = [];
    const note = (error?: Error | null): void => void calls.push((error ?? null) as Failure | null);
    const multi = client.multi().decrby(KEY, 10, note).incr(OTHER, note).decrby(KEY, 10, note);
    const exec = await errorOf(multi.exec());
    return { exec, calls };
  },
};

const byHand = async (client: Redis): Promise<Ending> => {
  const outcomes = [
    client.multi({ pipeline: false }),
    client.decrby(KEY, 10),
    client.incr(OTHER),
    client.decrby(KEY, 10),
    client.exec(),
  ].map(errorOf);
  const calls = await Promise.all(outcomes);
  return { exec: calls.pop() ?? null, calls };
};

/** When `reconnectOnError` says 2. */
const recipes: Record<string, (error: Error) => 2 | false> = {
  "the error of a member": ({ message }) => (message.startsWith("NOPERM") ? 2 : false),
  "the error of EXEC": ({ message }) => (message.startsWith("EXECABORT") ? 2 : false),
  "every error": () => 2,
};

const SINGLE_USER = ["ACL", "SETUSER", "noincr", "on", "nopass", "~*", "&*", "+@all", "-incr"];

describe("reconnectOnError 2 inside of transactions", () => {
  describe("one server", () => {
    const fixture = new ServerFixture().install();
    before(() => fixture.server.command(...SINGLE_USER));
    after(() => fixture.server.command("ACL", "DELUSER", "noincr"));

    for (const [recipe, reconnectOnError] of Object.entries(recipes)) {
      for (const [form, run] of Object.entries({
        ...forms,
        "by hand": byHand as (client: Client) => Promise<Ending>,
      })) {
        for (const enableAutoPipelining of [false, true]) {
          const title = `${form}, 2 for ${recipe}, auto-pipelining ${enableAutoPipelining ? "on" : "off"}`;
          it(title, async () => {
            let dials = 0;
            const options = { username: "noincr", password: "any", reconnectOnError, enableAutoPipelining };
            const redis = fixture.connect(options);
            redis.on("connect", () => dials++);
            await untilReady(redis);
            await fixture.server.command("SET", KEY, "100");
            await expectAborted(redis, run);
            await untilReady(redis);
            expect(await redis.get(KEY)).to.equal("100");
            expect(await fixture.server.command("EXISTS", OTHER)).to.equal(0);
            expect(dials).to.be.within(2, 3);
          });
        }
      }
    }
  });

  describe("a cluster", () => {
    const fixture = new ClusterFixture(ServerKind.Redis).install();
    before(async () => {
      for (const node of fixture.cluster.nodes) await node.command(...SINGLE_USER);
    });

    for (const [recipe, reconnectOnError] of Object.entries(recipes)) {
      for (const [form, run] of Object.entries(forms)) {
        for (const strategy of ["default", "redialling"] as const) {
          it(`${form}, 2 for ${recipe}, ${strategy} nodes`, async () => {
            const redialling = strategy === "redialling" ? { clusterNodeRetryStrategy: () => 5 } : {};
            const redisOptions = { username: "noincr", password: "any", reconnectOnError };
            const client = fixture.connect({ redisOptions, ...redialling } as object);
            await untilClusterReady(client);
            await client.set(KEY, "100");
            await expectAborted(client, run);
            expect(await client.get(KEY)).to.equal("100");
            expect(await client.exists(OTHER)).to.equal(0);
          });
        }
      }
    }
  });

  async function expectAborted(client: Client, run: (client: Client) => Promise<Ending>): Promise<void> {
    const outcome = await outcomeOf(run(client), 5000);
    expect(outcome[0]).to.equal("fulfilled");
    const { exec, calls } = outcome[1] as Ending;
    expect(exec, "exec() rejects").to.not.equal(null);
    // Nothing is claimed to have run, and what the server said is said.
    expect(exec?.message).to.match(/EXECABORT|Outcome unknown|^NOPERM|aborted/i);
    const refused = calls.filter((error) => error?.message.startsWith("NOPERM"));
    if (calls.length > 0) expect(refused, "the member that was refused").to.have.lengthOf(1);
  }
});
