/**
 * A callback runs in the asynchronous context in which it was given, never in that of a neighbour
 * whose reply came on the same connection; and callbacks come in the order of the replies.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { expect } from "chai";
import calculateSlot from "cluster-key-slot";
import type { ServerProcess } from "../../scripts/servers/server-process";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { type Cluster, Command, type Redis } from "../../src/index";
import { ClusterFixture, untilClusterReady } from "../support/cluster-fixture";
import { FakeServer } from "../support/fake-server";
import { FaultProxy } from "../support/fault-proxy";
import { ManyClients } from "../support/many-clients";
import { untilReady } from "../support/matrix";

const REQUESTS = 200;
const LUA = { lua: "return ARGV[1]", numberOfKeys: 1 };

type Client = Redis | Cluster;
type Done = () => void;
/** Issues something for one request; `done` is to be called from each callback and continuation. */
type Form = (client: Client, key: string, done: Done) => Promise<unknown>[];

interface WithScript {
  echoed(key: string, value: string, callback?: () => void): Promise<unknown>;
}

const ended = (promise: Promise<unknown>, done: Done): Promise<unknown> => promise.then(done, done);

async function awaited(promise: Promise<unknown>, done: Done): Promise<void> {
  try {
    await promise;
  } catch {}
  done();
}

const FORMS: Record<string, Form> = {
  command: (client, key, done) => [ended(client.get(key, done), done)],
  "failing command": (client, key, done) => [ended(client.lpush(key, "x", done), done)],
  "awaited command": (client, key, done) => [awaited(client.incr(`${key}:n`), done)],
  "call()": (client, key, done) => [ended(client.call("GET", key, done), done)],
  view: (client, key, done) => [ended(client.with({ timeout: 60_000 }).get(key, done), done)],
  script: (client, key, done) => [ended((client as unknown as WithScript).echoed(key, "a", done), done)],
  pipeline: (client, key, done) => [
    ended(client.pipeline().get(key, done).lpush(key, "x", done).incr(`${key}:n`, done).exec(done), done),
  ],
  "pipeline with a script": (client, key, done) => {
    const pipeline = client.pipeline();
    (pipeline as unknown as WithScript).echoed(key, "a", done);
    return [awaited(pipeline.exec(), done)];
  },
  "pipeline in parts": (client, key, done) => [
    ended(client.pipeline().get(key, done).get(key, done).exec({ batchSize: 1 }, done), done),
  ],
  transaction: (client, key, done) => [
    ended(client.multi().get(key, done).incr(`${key}:n`, done).exec(done), done),
  ],
  "transaction in a pipeline": (client, key, done) => [
    ended(client.pipeline().multi().get(key, done).exec().exec(done), done),
  ],
  stream: (client, key, done) => [
    new Promise<void>((resolve) => {
      client
        .hscanStream(`${key}:hash`)
        .on("data", done)
        .on("end", () => {
          done();
          resolve();
        })
        .on("error", () => {
          done();
          resolve();
        });
    }),
  ],
  bulk: (client, key, done) => [
    awaited(
      client
        .bulk([
          ["get", key, done],
          ["get", key],
        ])
        .summary(),
      done,
    ),
  ],
  "command made by hand": (client, key, done) => [
    ended(client.sendCommand(new Command("get", [key], {}, done)), done),
  ],
};

describe("the context of callbacks", () => {
  const storage = new AsyncLocalStorage<string>();
  const shared = new ManyClients((redis) => redis.defineCommand("echoed", LUA)).install();
  const open = (options: RedisOptions = {}): Redis => shared.open(options);

  /** Two hundred requests of all forms between each other; returns what ran in a foreign context. */
  async function interleave(client: Client, between: (request: number) => unknown): Promise<string[]> {
    const names = Object.keys(FORMS);
    const wrong = new Set<string>();
    let heard = 0;
    const requests: Promise<unknown>[] = [];
    for (let request = 0; request < REQUESTS; request++) {
      const name = names[request % names.length] as string;
      const id = `${request} ${name}`;
      const done = (): void => {
        heard++;
        const context = storage.getStore();
        if (context !== id) wrong.add(`${name} in the context of ${context}`);
      };
      storage.run(id, () => requests.push(...(FORMS[name] as Form)(client, `key:{${request % 7}}`, done)));
      storage.enterWith("a neighbour");
      await between(request);
    }
    await Promise.all(requests);
    expect(heard).to.be.at.least(REQUESTS * 2 - 50);
    return [...wrong];
  }

  const turn = (request: number): unknown =>
    request % 5 === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined;

  for (const [name, options] of Object.entries({
    "a client": {},
    "a client that gathers": { enableAutoPipelining: true },
    "a client with bounds": { bounds: { maxCommands: 5 } },
    "a client with a time limit": { commandTimeout: 30_000 },
    "a client that connects late": { lazyConnect: true },
  })) {
    it(name, async () => {
      expect(await interleave(open(options), turn)).to.deep.equal([]);
    });
  }

  it("a client whose connection is lost again and again", async () => {
    const proxy = await FaultProxy.start({ host: shared.server.host, port: shared.server.port });
    try {
      const redis = open({ host: "127.0.0.1", port: proxy.port });
      const wrong = await interleave(redis, (request) => {
        if (request % 40 === 39) setImmediate(() => proxy.cutAll());
        return turn(request);
      });
      expect(wrong).to.deep.equal([]);
    } finally {
      await shared.close();
      await proxy.stop();
    }
  });

  it("a client behind a Sentinel", async () => {
    const address = [shared.server.host, String(shared.server.port)];
    const sentinel = await FakeServer.start(([, command]) =>
      command?.toLowerCase() === "get-master-addr-by-name" ? address : [],
    );
    try {
      const sentinels = [{ host: sentinel.host, port: sentinel.port }];
      const redis = open({ sentinels, name: "mymaster", updateSentinels: false });
      expect(await interleave(redis, turn)).to.deep.equal([]);
    } finally {
      await shared.close();
      await sentinel.stop();
    }
  });

  it("connect(), quit() and a transaction opened by hand", async () => {
    const redis = open({ lazyConnect: true });
    const seen: unknown[] = [];
    const note = (): void => void seen.push(storage.getStore());
    const connected = storage.run("connect", () => redis.connect(note));
    storage.enterWith("a neighbour");
    await connected;
    storage.run("multi", () => {
      redis.multi({ pipeline: false });
      redis.get("a", note);
      void redis.exec(note);
    });
    storage.enterWith("a neighbour");
    await storage.run("quit", () => redis.quit(note));
    expect(seen).to.deep.equal(["connect", "multi", "multi", "quit"]);
  });

  it("callbacks come in the order of the replies", async () => {
    const redis = open();
    await untilReady(redis);
    const order: number[] = [];
    const note = (place: number) => (): void => void order.push(place);
    let place = 0;
    const outcomes: Promise<unknown>[] = [];
    for (let round = 0; round < 20; round++) {
      outcomes.push(redis.set("a", "1", note(place++)));
      const pipeline = redis.pipeline().get("a", note(place++)).get("a", note(place++));
      outcomes.push(pipeline.exec(note(place++)));
      const transaction = redis.multi().get("a", note(place++));
      outcomes.push(transaction.exec(note(place++)));
      void redis.multi({ pipeline: false });
      redis.get("a", note(place++));
      outcomes.push(redis.exec(note(place++)));
      outcomes.push(redis.get("a", note(place++)));
    }
    await Promise.all(outcomes);
    expect(order).to.deep.equal(Array.from({ length: place }, (_, i) => i));
  });

  describe("a cluster", () => {
    const fixture = new ClusterFixture().install();

    it("whose commands are redirected", async () => {
      const cluster = fixture.connect();
      cluster.defineCommand("echoed", LUA);
      await untilClusterReady(cluster);
      await fixture.flush();
      const slot = calculateSlot("3");
      const [owner, other] = await ownerAndOther(slot);
      const idOf = async (node: ServerProcess): Promise<unknown> => node.command("CLUSTER", "MYID");
      await other.command("CLUSTER", "SETSLOT", slot, "IMPORTING", String(await idOf(owner)));
      await owner.command("CLUSTER", "SETSLOT", slot, "MIGRATING", String(await idOf(other)));
      try {
        expect(await interleave(cluster, turn)).to.deep.equal([]);
      } finally {
        await fixture.flush();
        for (const node of [owner, other]) await node.command("CLUSTER", "SETSLOT", slot, "STABLE");
      }
    });

    async function ownerAndOther(slot: number): Promise<[ServerProcess, ServerProcess]> {
      const masters = await fixture.cluster.masters();
      const rows = (await masters[0]?.command("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
      const row = rows.find(([first, last]) => Number(first) <= slot && slot <= Number(last));
      const port = Number(row?.[2][1]);
      const owner = masters.find((node) => node.port === port) as ServerProcess;
      return [owner, masters.find((node) => node !== owner) as ServerProcess];
    }

    it("and its nodes", async () => {
      const cluster = fixture.connect();
      cluster.defineCommand("echoed", LUA);
      await untilClusterReady(cluster);
      expect(await interleave(cluster, turn)).to.deep.equal([]);
      const seen = new Set<unknown>();
      const pings = cluster.nodes().map((node, i) =>
        storage.run(`node ${i}`, () => {
          const note = (): void => void seen.add(storage.getStore());
          return Promise.all([node.ping(note), node.pipeline().ping(note).exec(note)]);
        }),
      );
      storage.enterWith("a neighbour");
      await Promise.all(pings);
      expect([...seen].sort()).to.deep.equal(
        cluster
          .nodes()
          .map((_, i) => `node ${i}`)
          .sort(),
      );
    });
  });
});
