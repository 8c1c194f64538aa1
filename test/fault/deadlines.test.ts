/**
 * Guarantee 6: time limits and abort signals over the whole life of a call, for single commands,
 * pipelines and transactions, on one server and on a cluster, by the client's option and by
 * `with()`. The error says where the time went; late replies shift nothing; one coarse timer.
 */

import { expect } from "chai";
import { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Cluster, Redis } from "../../src/index";
import { closeCluster, untilClusterReady } from "../support/cluster-fixture";
import { FakeCluster } from "../support/fake-cluster";
import { type FakeConnection, FakeServer, NO_REPLY } from "../support/fake-server";
import { Direction, FaultProxy } from "../support/fault-proxy";
import { countInjections } from "../support/injections";
import { closeClient, untilReady } from "../support/matrix";
import { sharedServer } from "../support/shared-servers";

const ROUNDS = process.env.SLUICE_LONG === "1" ? 10 : 1;
const KEY = "{deadline}:a";

interface Limited extends Error {
  readonly code: string;
  readonly details: Record<"phase" | "server", string> &
    Record<"elapsedMs" | "queuedMs" | "commandsAhead" | "bytesAhead", number>;
}
type Client = Redis | Cluster;
type Call = (client: Client) => Promise<Limited[]>;

function errorOf(call: Promise<unknown>): Promise<Limited> {
  return call.then(
    () => {
      throw new Error("It did not reject");
    },
    (error: Limited) => error,
  );
}

/** Each gives the errors that its call ended with. */
const CALLS: Record<string, Call> = {
  "a single command": async (client) => [await errorOf(client.get(KEY))],
  "a pipeline": async (client) => {
    const rows = (await client.pipeline().get(KEY).get(`${KEY}b`).exec()) as [Limited | null, unknown][];
    return rows.map(([error]) => error as Limited);
  },
  "a transaction": async (client) => [await errorOf(client.multi().get(KEY).get(`${KEY}b`).exec())],
};

/** Limits: what ends the call, and the code it ends with. */
const LIMITS: Record<string, (client: Client) => { view: Client; code: string; end: () => void }> = {
  "with a time limit": (client) => ({
    view: client.with({ timeout: 30 }),
    code: "COMMAND_TIMEOUT",
    end: () => {},
  }),
  "with a signal": (client) => {
    const abort = new AbortController();
    return {
      view: client.with({ signal: abort.signal }),
      code: "ABORTED_BY_SIGNAL",
      end: () => abort.abort(new Error("enough")),
    };
  },
  "with both and a retry policy": (client) => {
    const { signal } = new AbortController();
    const view = client.with({ timeout: 30, signal, retry: "at-most-once" });
    return { view, code: "COMMAND_TIMEOUT", end: () => {} };
  },
  "a view of a view": (client) => ({
    view: client.with({ timeout: 60_000 }).with({ timeout: 30 }),
    code: "COMMAND_TIMEOUT",
    end: () => {},
  }),
};

describe("deadlines and cancellation", function () {
  this.timeout(60_000);
  const injections = countInjections("time limits and aborts");

  let server: ServerProcess;
  before(async () => {
    server = await sharedServer(ServerKind.Redis);
  });

  describe("replies that are late", () => {
    let fakes: FakeCluster;
    let held: (() => void)[];
    before(async () => {
      fakes = await FakeCluster.start(2);
    });
    after(() => fakes.stop());
    beforeEach(() => {
      held = [];
      for (const node of fakes.nodes) node.script = hold;
    });

    /** Keeps the answers to GET and to transactions until they are let go. */
    function hold(words: string[], { socket }: FakeConnection): typeof NO_REPLY | undefined {
      const answers: Record<string, string> = {
        get: `$${Buffer.byteLength(String(words[1]))}\r\n${words[1]}\r\n`,
        multi: "+OK\r\n",
        exec: "*2\r\n$4\r\nlate\r\n$4\r\nlate\r\n",
      };
      const answer = answers[words[0] as string];
      if (answer === undefined) return undefined;
      held.push(() => socket.write(answer));
      return NO_REPLY;
    }

    function letGo(): void {
      for (const node of fakes.nodes) node.script = null;
      for (const answer of held.splice(0)) answer();
    }

    const CLIENTS: Record<string, () => Client> = {
      Redis: () => new Redis({ host: fakes.node(0).server.host, port: fakes.node(0).server.port }),
      "Redis with automatic pipelines": () => new Redis({ ...fakes.seeds[0], enableAutoPipelining: true }),
      Cluster: () => new Cluster(fakes.seeds),
      "Cluster with automatic pipelines": () => new Cluster(fakes.seeds, { enableAutoPipelining: true }),
    };
    const ready = (client: Client): Promise<void> =>
      client instanceof Cluster ? untilClusterReady(client) : untilReady(client);
    const close = (client: Client): Promise<void> =>
      client instanceof Cluster ? closeCluster(client) : closeClient(client);

    for (const [clientName, open] of Object.entries(CLIENTS)) {
      for (const [limitName, limit] of Object.entries(LIMITS)) {
        it(`${clientName}, ${limitName}`, async () => {
          const client = open();
          client.on("error", () => {});
          try {
            await ready(client);
            // The connection to the node is made with the first command.
            await client.set(KEY, "x");
            for (let round = 0; round < ROUNDS; round++) {
              for (const [callName, call] of Object.entries(CALLS)) {
                const { view, code, end } = limit(client);
                const outcome = call(view);
                while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
                end();
                for (const error of await outcome) {
                  expect(error.code, callName).to.equal(code);
                  expect(error.message).to.match(
                    /ms of waiting for 127\.0\.0\.1:\d+ with \d+ commands? ahead of it/,
                  );
                  expect(error.details.phase).to.equal("waiting");
                  expect(error.details.elapsedMs).to.be.at.least(error.details.queuedMs);
                  injections.add();
                }
                // Behind the late replies everybody gets an answer of their own.
                letGo();
                expect(await client.set(KEY, callName)).to.equal("OK");
                expect(await client.get(KEY)).to.equal(callName);
                for (const node of fakes.nodes) node.script = hold;
              }
            }
          } finally {
            letGo();
            await close(client);
          }
        });
      }
    }

    for (const clientName of ["Redis", "Cluster"]) {
      for (const [limitName, limit] of Object.entries(LIMITS)) {
        it(`${clientName} that is not connected, ${limitName}`, async () => {
          const options = { lazyConnect: true, retryStrategy: () => 60_000 };
          const port = 1;
          const client: Client =
            clientName === "Redis"
              ? new Redis({ ...options, port, maxRetriesPerRequest: null })
              : new Cluster([{ port }], { lazyConnect: true, clusterRetryStrategy: () => 60_000 });
          client.on("error", () => {});
          try {
            client.connect().catch(() => {});
            for (const [callName, call] of Object.entries(CALLS)) {
              const { view, code, end } = limit(client);
              const outcome = call(view);
              await new Promise((resolve) => setImmediate(resolve));
              end();
              for (const error of await outcome) {
                expect(error.code, callName).to.equal(code);
                expect(error.details.phase).to.equal("queued");
                expect(error.message).to.match(/it was not sent$/i);
                injections.add();
              }
            }
          } finally {
            await close(client);
          }
        });
      }
    }
  });

  it("bytes that the socket has not taken are told", async () => {
    const proxy = await FaultProxy.start({ host: server.host, port: server.port });
    const redis = new Redis({ host: proxy.host, port: proxy.port, disconnectTimeout: 20, watchdog: false });
    redis.on("error", () => {});
    try {
      await untilReady(redis);
      proxy.stall(Direction.ToServer);
      const large = Buffer.alloc(32 * 1024 * 1024);
      const error = await errorOf(redis.with({ timeout: 200 }).set("deadline:large", large));
      expect(error.details.phase).to.equal("sent");
      expect(error.details.bytesAhead).to.be.greaterThan(1024 * 1024);
      expect(error.message).to.match(/bytes unsent\. It may still run$/);
      const behind = await errorOf(redis.with({ timeout: 30 }).get("deadline:behind"));
      expect(behind.details.phase).to.equal("queued");
      injections.add(2);
    } finally {
      await closeClient(redis);
      await proxy.stop();
    }
  });

  describe("on a real server", () => {
    async function withClient(options: RedisOptions, body: (redis: Redis) => Promise<void>): Promise<void> {
      const redis = new Redis({ host: server.host, port: server.port, ...options });
      redis.on("error", () => {});
      try {
        await untilReady(redis);
        await body(redis);
      } finally {
        await closeClient(redis);
      }
    }

    it("commandTimeout counts from the call, reconnecting included", async () => {
      const proxy = await FaultProxy.start({ host: server.host, port: server.port });
      try {
        await withClient(
          {
            host: proxy.host,
            port: proxy.port,
            commandTimeout: 60,
            retryStrategy: () => 20,
            maxRetriesPerRequest: null,
          },
          async (redis) => {
            proxy.refuse();
            proxy.cutAll("reset");
            for (let round = 0; round < ROUNDS * 5; round++) {
              const error = await errorOf(redis.incr("deadline:n"));
              expect(error.code).to.equal("COMMAND_TIMEOUT");
              expect(error.details.elapsedMs).to.be.at.least(59);
              injections.add();
            }
            const again = new Promise((resolve) => redis.once("ready", resolve));
            proxy.heal();
            await again;
            expect(await redis.get("deadline:n")).to.equal(null);
          },
        );
      } finally {
        await proxy.stop();
      }
    });

    it("a thousand limits at once: each once, and none early", async () => {
      // The blocking call leaves with the others: on a busy machine it would be over before the last is issued.
      await withClient({ flushPolicy: "turn" }, async (redis) => {
        const lateness: number[] = [];
        const noise: number[] = [];
        for (let round = 0; round < 5; round++) {
          // Ticks of a plain timer over the same time say how late timers are here and now.
          let last = performance.now();
          let worst = 0;
          const ticker = setInterval(() => {
            const now = performance.now();
            worst = Math.max(worst, now - last - 1);
            last = now;
          }, 1);
          let latest = 0;
          const blocker = redis.blpop("deadline:none", 1);
          const calls = Array.from({ length: 1000 }, async (_, index) => {
            const timeout = 20 + (index % 100);
            const startedAt = performance.now();
            await errorOf(redis.with({ timeout }).get(KEY));
            const late = performance.now() - startedAt - timeout;
            expect(late).to.be.at.least(-1);
            latest = Math.max(latest, late);
          });
          await Promise.all(calls);
          clearInterval(ticker);
          injections.add(1000);
          await blocker;
          lateness.push(latest);
          noise.push(worst);
        }
        const excess = Math.min(...lateness.map((late, index) => late - (noise[index] as number)));
        console.log(
          `      latest ${Math.min(...lateness).toFixed(1)} ms, beyond the noise of timers ${excess.toFixed(1)} ms`,
        );
        // How late a limit may be is tested in test/unit/util/deadlines-clock; this is for people.
        expect(lateness).to.have.length(5);
        expect(await redis.set(KEY, "after")).to.equal("OK");
        expect(await redis.get(KEY)).to.equal("after");
      });
    });
  });

  it("no deadline is held for a call that has ended", async () => {
    const fake = await FakeServer.start((words) => (words[0] === "get" ? "v" : undefined));
    const redis = new Redis({ host: fake.host, port: fake.port });
    try {
      await untilReady(redis);
      const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
      const view = redis.with({ timeout: 3_600_000, signal: new AbortController().signal });
      await Promise.all(Array.from({ length: 10_000 }, () => view.get("a")));
      expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length).to.be.at.most(
        before,
      );
    } finally {
      await closeClient(redis);
      await fake.stop();
    }
  });
});
