/**
 * A blocking call that its caller gave up takes no element with it: what is pushed afterwards
 * stays in the list, on a shared connection and on a leased one, on one server and on a cluster.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import type { Cluster, Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FakeServer, NO_REPLY } from "../support/fake-server";
import { untilReady } from "../support/matrix";
import { codeOf, outcomeOf } from "../support/outcome";
import { ServerFixture } from "../support/server-fixture";

const ROUNDS = 20;
/** The server has been told by then, where others still block. */
const SETTLED_MS = 200;

type Client = Redis | Cluster;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until no call blocks at the server. */
function untilNoneBlocks(server: ServerProcess): Promise<void> {
  const blocks = async (): Promise<boolean> =>
    /blocked_clients:0\r?\n/.test(String(await server.command("INFO", "clients")));
  return waitUntil(blocks, { timeoutMs: 5000, what: "the server to be told" });
}

/** Gives one BLPOP up; resolves with what its caller got. */
const ways: Record<string, (client: Client, key: string) => Promise<unknown>> = {
  blockingTimeout: (client, key) => client.blpop(key, 0),
  timeout: (client, key) => codeOf(client.with({ timeout: 15 }).blpop(key, 0)),
  signal: async (client, key) => {
    const abort = new AbortController();
    const given = codeOf(client.with({ signal: abort.signal }).blpop(key, 0));
    await pause(10);
    abort.abort();
    return given;
  },
};

const answers: Record<string, unknown> = {
  blockingTimeout: null,
  timeout: "COMMAND_TIMEOUT",
  signal: "ABORTED_BY_SIGNAL",
};

/** How many of the pushed elements are still there. */
async function leftIn(client: Client): Promise<number> {
  let left = 0;
  for (let round = 0; round < ROUNDS; round++) left += await client.llen(`jobs:${round}`);
  return left;
}

function optionsOf(way: string): RedisOptions {
  return way === "blockingTimeout" ? { blockingTimeout: 15 } : {};
}

describe("a blocking call that was given up", () => {
  describe("one server", () => {
    const fixture = new ServerFixture().install();

    for (const [way, giveUp] of Object.entries(ways)) {
      for (const blockingConnections of [0, 2]) {
        for (const protocol of [2, 3] as const) {
          const place = blockingConnections === 0 ? "shared" : "leased";
          it(`${way}, ${place} connection, protocol ${protocol}`, async () => {
            const redis = fixture.connectDirectly({ ...optionsOf(way), blockingConnections, protocol });
            await untilReady(redis);
            for (let round = 0; round < ROUNDS; round++) {
              expect(await giveUp(redis, `jobs:${round}`)).to.deep.equal(answers[way]);
              await untilNoneBlocks(fixture.server);
              await fixture.control.rpush(`jobs:${round}`, "job");
            }
            expect(await leftIn(fixture.control)).to.equal(ROUNDS);
            expect(await redis.echo("the connection works")).to.equal("the connection works");
          });
        }
      }
    }

    it("blockingTimeout: pushed at the very moment, an element is handed over or stays", async () => {
      const redis = fixture.connectDirectly({ blockingTimeout: 12 });
      await untilReady(redis);
      const got: string[] = [];
      for (let round = 0; round < 100; round++) {
        const taken = redis.blpop("jobs", 0);
        await pause(8 + (round % 10));
        await fixture.control.rpush("jobs", `job ${round}`);
        const row = await taken;
        if (row !== null) got.push(row[1]);
      }
      const left = await fixture.control.lrange("jobs", 0, -1);
      expect(got.length + left.length).to.equal(100);
    });

    it("its neighbours on the connection get what they wait for", async () => {
      const redis = fixture.connectDirectly();
      await untilReady(redis);
      for (let round = 0; round < ROUNDS; round++) {
        const abort = new AbortController();
        const first = codeOf(redis.with({ signal: abort.signal }).blpop("none", 0));
        const second = redis.blpop("jobs", 0);
        const third = redis.incr("n");
        await pause(5);
        abort.abort();
        await fixture.control.rpush("jobs", `job ${round}`);
        expect(await first).to.equal("ABORTED_BY_SIGNAL");
        expect(await second).to.deep.equal(["jobs", `job ${round}`]);
        expect(await third).to.equal(round + 1);
      }
    });

    it("one that is given up behind another that goes on", async () => {
      const redis = fixture.connectDirectly();
      await untilReady(redis);
      const abort = new AbortController();
      const first = redis.blpop("jobs", 0);
      const second = codeOf(redis.with({ signal: abort.signal }).blpop("jobs", 0));
      await pause(10);
      abort.abort();
      expect(await second).to.equal("ABORTED_BY_SIGNAL");
      await pause(SETTLED_MS);
      await fixture.control.rpush("jobs", "one");
      expect(await first).to.deep.equal(["jobs", "one"]);
      await pause(SETTLED_MS);
      await fixture.control.rpush("jobs", "two");
      await pause(SETTLED_MS);
      expect(await fixture.control.lrange("jobs", 0, -1)).to.deep.equal(["two"]);
    });

    it("other commands that take: BLMOVE, BZPOPMIN, XREADGROUP, and one in a pipeline", async () => {
      const redis = fixture.connectDirectly();
      const { control } = fixture;
      await untilReady(redis);
      await control.xgroup("CREATE", "stream", "readers", "$", "MKSTREAM");
      const calls: ((client: Redis) => Promise<unknown>)[] = [
        (client) => client.blmove("list", "taken", "LEFT", "RIGHT", 0),
        (client) => client.bzpopmin("sorted", 0),
        (client) => client.xreadgroup("GROUP", "readers", "me", "BLOCK", 0, "STREAMS", "stream", ">"),
        (client) => client.pipeline().blpop("list", 0).exec(),
      ];
      for (const call of calls) {
        await control.xgroup("SETID", "stream", "readers", "$");
        const abort = new AbortController();
        const given = outcomeOf(call(redis.with({ signal: abort.signal }) as Redis));
        await pause(10);
        abort.abort();
        await given;
        await untilNoneBlocks(fixture.server);
        await control
          .pipeline()
          .rpush("list", "x")
          .zadd("sorted", 1, "x")
          .xadd("stream", "*", "f", "v")
          .exec();
        await pause(SETTLED_MS);
        expect(await control.lrange("list", 0, -1)).to.deep.equal(["x"]);
        expect(await control.zrange("sorted", 0, -1)).to.deep.equal(["x"]);
        expect(await control.xpending("stream", "readers")).to.have.property("0", 0);
        await control.del("list", "sorted");
      }
    });

    it("without the right to CLIENT it still ends in time, and the client works on", async () => {
      await fixture.server.command(
        "ACL",
        "SETUSER",
        "worker",
        "on",
        "nopass",
        "~*",
        "&*",
        "+@all",
        "-client",
      );
      try {
        const redis = fixture.connectDirectly({ username: "worker", password: "x", blockingTimeout: 20 });
        await untilReady(redis);
        expect(await redis.blpop("jobs", 0)).to.equal(null);
        expect(await outcomeOf(redis.blpop("jobs", 0.3))).to.deep.equal(["fulfilled", null]);
      } finally {
        await fixture.server.command("ACL", "DELUSER", "worker");
      }
    });

    it("the connection that tells the server does not outlive the client", async () => {
      const redis = fixture.connectDirectly({ connectionName: "giving up", blockingTimeout: 15 });
      await untilReady(redis);
      await redis.blpop("jobs", 0);
      redis.disconnect();
      const count = async (): Promise<number> =>
        String(await fixture.control.client("LIST"))
          .split("\n")
          .filter((one) => one.includes("cmd=client|unblock")).length;
      await waitUntil(async () => (await count()) === 0, { timeoutMs: 3000, what: "it to be closed" });
    });

    it("a leased connection that could not be told is closed", async () => {
      const fake = await FakeServer.start(([name]) => (name === "blpop" ? NO_REPLY : undefined));
      try {
        const options = {
          host: fake.host,
          port: fake.port,
          blockingConnections: 1,
          blockingTimeout: 20,
          watchdog: false,
        };
        const redis = fixture.connectDirectly(options as RedisOptions);
        await untilReady(redis);
        expect(await redis.blpop("jobs", 0)).to.equal(null);
        await waitUntil(async () => fake.openConnections === 1, {
          timeoutMs: 3000,
          what: "the leased connection to be closed",
        });
        expect(await redis.blpop("jobs", 0)).to.equal(null);
      } finally {
        await fake.stop();
      }
    });
  });

  describe("a cluster", () => {
    const fixture = new ClusterFixture(ServerKind.Redis).install();

    for (const [way, giveUp] of Object.entries(ways)) {
      for (const blockingConnections of [0, 2]) {
        it(`${way}, ${blockingConnections === 0 ? "shared" : "leased"} connection`, async () => {
          await fixture.flush();
          const client = fixture.connect({ ...(optionsOf(way) as object), blockingConnections } as object);
          const control = fixture.connect();
          await Promise.all([untilClusterReady(client), untilClusterReady(control)]);
          for (let round = 0; round < ROUNDS; round++) {
            expect(await giveUp(client, `jobs:${round}`)).to.deep.equal(answers[way]);
            for (const node of fixture.cluster.nodes) await untilNoneBlocks(node);
            await control.rpush(`jobs:${round}`, "job");
          }
          expect(await leftIn(control)).to.equal(ROUNDS);
        });
      }
    }
  });
});
