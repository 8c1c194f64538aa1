/**
 * The promises of the API for clusters, on a real one and on both clients: ours and the published
 * one of the same API. Where that one differs, its outcome is written beside ours.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { Cluster as PublishedCluster, Command as PublishedCommand } from "ioredis";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import { Cluster, Command } from "../../src/index";
import { ClusterFixture, closeCluster, untilClusterReady } from "../support/cluster-fixture";
import { serverKinds } from "../support/shared-servers";

/** The cluster of the kind that is tested at the moment. */
let fixture: ClusterFixture;

interface Behaviour {
  readonly title: string;
  readonly options?: ClusterOptions;
  /** Made by the behaviour itself, with other start nodes or options. */
  run(cluster: Cluster, make: Make, library: Library): Promise<unknown>;
  readonly expected: unknown;
  /** The answer of the published client instead. */
  readonly published?: unknown;
}

type Make = (options?: ClusterOptions, nodes?: ConstructorParameters<typeof Cluster>[0]) => Cluster;

interface Library {
  readonly name: string;
  readonly Client: typeof Cluster;
  readonly Command: typeof Command;
}

const LIBRARIES: readonly Library[] = [
  { name: "sluice", Client: Cluster, Command },
  {
    name: "ioredis",
    Client: PublishedCluster as unknown as typeof Cluster,
    Command: PublishedCommand as unknown as typeof Command,
  },
];
const CROSS_SLOT = "ReplyError: CROSSSLOT Keys in request don't hash to the same slot";
const NOBODY = [{ host: "127.0.0.1", port: 1 }];
/** Keys that the three masters share. */
const KEYS = Array.from({ length: 30 }, (_, i) => `key:${i}`);

/** A result, or name and message of what it failed with. */
async function tell(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

/** How often masters and replicas have run a command. */
async function callsOf(name: string): Promise<{ masters: number; replicas: number }> {
  const counts = { masters: 0, replicas: 0 };
  const masters = await fixture.cluster.masters();
  for (const node of fixture.cluster.nodes) {
    const stats = String(await node.command("INFO", "commandstats"));
    const calls = Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    counts[masters.includes(node) ? "masters" : "replicas"] += calls;
  }
  return counts;
}

const BEHAVIOURS: readonly Behaviour[] = [
  {
    title: "slots names the nodes of each slot, master first",
    async run({ slots }) {
      const masters = new Set((await fixture.cluster.masters()).map(({ host, port }) => `${host}:${port}`));
      const areInOrder = slots.every(
        ([master = "", replica = ""]) => masters.has(master) && !masters.has(replica),
      );
      return [slots.length, areInOrder, new Set(slots.map((names) => names.length)).size];
    },
    expected: [16_384, true, 1],
  },
  {
    title: "nodes() by role",
    run: async (cluster) => [
      cluster.nodes().length,
      cluster.nodes("all").length,
      cluster.nodes("master").length,
      cluster.nodes("slave").length,
      cluster.nodes("slave").map(({ options }) => options.readOnly),
      await tell(async () => cluster.nodes("x" as "all")),
    ],
    expected: [
      6,
      6,
      3,
      3,
      [true, true, true],
      'Error: Invalid role "x". Expected "all", "master" or "slave"',
    ],
  },
  {
    title: "empty batches, and batches from arrays",
    async run(cluster) {
      const commands = [
        ["set", "{t}a", "1"],
        ["get", "{t}a"],
      ];
      return [
        await cluster.pipeline().exec(),
        await cluster.multi().exec(),
        await cluster.pipeline(commands).exec(),
        await cluster.multi(commands).exec(),
      ];
    },
    expected: [
      [],
      [],
      [
        [null, "OK"],
        [null, "1"],
      ],
      [
        [null, "OK"],
        [null, "1"],
      ],
    ],
  },
  {
    title: "public fields of a pipeline",
    async run(cluster) {
      const pipeline = cluster.pipeline().get("a") as unknown as Record<string, unknown>;
      await cluster.ping();
      const { isCluster, isPipeline, length, redis, options } = pipeline;
      return [isCluster, isPipeline, length, redis === cluster, options === cluster.options];
    },
    expected: [true, true, 1, true, true],
  },
  {
    title: "callbacks",
    run: (cluster) =>
      new Promise((resolve) => {
        cluster.set("k", "v", (_error, ok) => {
          cluster
            .pipeline()
            .get("k")
            .exec((error, rows) => resolve([ok, error, rows]));
        });
      }),
    expected: ["OK", null, [[null, "v"]]],
  },
  {
    title: "a pipeline rejects when no node can be reached",
    async run(_cluster, make) {
      const options = { clusterRetryStrategy: () => null };
      const broken = make(options, NOBODY);
      const rows = tell(() => broken.pipeline().get("a").set("b", 1).exec());
      const single = tell(() => broken.get("a"));
      const group = tell(() => broken.multi().get("a").exec());
      return [await rows, await single, await group];
    },
    expected: Array(3).fill("Error: None of startup nodes is available"),
  },
  {
    title: "SELECT of another database than that of the client is refused",
    run: async (cluster) => [
      await cluster.select(0),
      String(await tell(() => cluster.select(1))).replace(/:.*/s, ""),
    ],
    expected: ["OK", "SelectOnClusterError"],
    published: ["OK", "ReplyError"],
  },
  {
    title: "keys of two slots in one command get the server's answer",
    run: async (cluster) => [
      await tell(() => cluster.mget("a", "b")),
      await tell(() => cluster.del("a", "b")),
      await tell(() => cluster.eval("return 1", 2, "a", "b")),
      await tell(() => cluster.watch("a", "b")),
      await cluster.mget("{t}1", "{t}2"),
    ],
    expected: [CROSS_SLOT, CROSS_SLOT, CROSS_SLOT, CROSS_SLOT, [null, null]],
  },
  {
    title: "commands without keys run on one master",
    async run(cluster) {
      const before = await callsOf("echo");
      for (let i = 0; i < 30; i++) await cluster.echo("x");
      const after = await callsOf("echo");
      return [after.masters - before.masters, after.replicas - before.replicas];
    },
    expected: [30, 0],
  },
  {
    title: "info, dbsize and keys speak for one node; nodes() for all",
    async run(cluster) {
      await Promise.all(KEYS.map((key) => cluster.set(key, 1)));
      const all = await Promise.all(cluster.nodes("master").map((node) => node.dbsize()));
      const sum = all.reduce((left, right) => left + right);
      const one = await cluster.dbsize();
      const keys = await cluster.keys("key:*");
      return [sum >= KEYS.length, one < sum, keys.length < KEYS.length, typeof (await cluster.info())];
    },
    expected: [true, true, true, "string"],
  },
  {
    title: "CLUSTER subcommands, also before it is ready",
    async run(cluster, make) {
      const early = make();
      return [
        await early.cluster("KEYSLOT", "foo"),
        await cluster.cluster("KEYSLOT", "foo"),
        String(await cluster.cluster("INFO")).includes("cluster_state:ok"),
      ];
    },
    expected: [12_182, 12_182, true],
  },
  {
    title: "sendCommand, call and callBuffer",
    async run(cluster, _make, library) {
      await cluster.set("k", "v");
      const command = new library.Command("get", ["k"], { replyEncoding: "utf8" });
      return [
        await cluster.sendCommand(command as never),
        await cluster.call("GET", "k"),
        Buffer.isBuffer(await cluster.callBuffer("get", "k")),
      ];
    },
    expected: ["v", "v", true],
  },
  {
    title: "READONLY, READWRITE, ASKING and UNWATCH are passed on",
    run: (cluster) =>
      Promise.all([cluster.readonly(), cluster.readwrite(), cluster.asking(), cluster.unwatch()]),
    expected: ["OK", "OK", "OK", "OK"],
  },
  {
    title: "watch and multi in one slot",
    async run(cluster) {
      await cluster.set("{w}a", 0);
      await cluster.watch("{w}a");
      const quiet = await cluster.multi().incr("{w}a").exec();
      await cluster.watch("{w}a");
      await cluster.incr("{w}a");
      return [quiet, await cluster.multi().incr("{w}a").exec()];
    },
    expected: [[[null, 1]], null],
  },
  {
    title: "a transaction inline in a pipeline",
    run: (cluster) => cluster.pipeline().multi().set("a", 1).exec().exec(),
    expected: [
      [null, "OK"],
      [null, "QUEUED"],
      [null, ["OK"]],
    ],
  },
  {
    title: "a pipeline over several nodes",
    run: (cluster) => tell(() => cluster.pipeline().set("a", 1).set("b", 2).set("c", 3).exec()),
    expected: [
      [null, "OK"],
      [null, "OK"],
      [null, "OK"],
    ],
    published: "Error: All keys in the pipeline should belong to the same slots allocation group",
  },
  {
    title: "a key prefix decides about the slot",
    options: { redisOptions: { keyPrefix: "{p}:" } },
    async run(cluster) {
      await cluster.flushall();
      const rows = await cluster.multi().set("a", 1).set("b", 2).get("a").exec();
      return [rows, await cluster.call("get", "a"), cluster.options.keyPrefix];
    },
    expected: [
      [
        [null, "OK"],
        [null, "OK"],
        [null, "1"],
      ],
      "1",
      "{p}:",
    ],
  },
  {
    title: "scripts go by their first key, and their text once to each node",
    options: { scripts: { double: { numberOfKeys: 1, lua: "return redis.call('INCRBY', KEYS[1], 2)" } } },
    async run(cluster) {
      const before = await callsOf("eval");
      const { double } = cluster as unknown as { double: (key: string) => Promise<number> };
      const results: number[] = [];
      for (const key of ["{a}s", "{b}s", "{c}s", "{a}s", "{b}s", "{c}s"]) {
        if (results.length < 3) await cluster.del(key);
        results.push(await double.call(cluster, key));
      }
      const after = await callsOf("eval");
      for (const master of await fixture.cluster.masters()) await master.command("SCRIPT", "FLUSH");
      // The three keys lie on three masters.
      return [results, after.masters - before.masters];
    },
    expected: [[2, 2, 2, 4, 4, 4], 3],
  },
  {
    title: "node connections have the name of redisOptions",
    options: { redisOptions: { connectionName: "mine" } },
    run: (cluster) => Promise.all(cluster.nodes("master").map((node) => node.client("GETNAME"))),
    expected: ["mine", "mine", "mine"],
  },
  {
    title: "redisOptions.lazyConnect false connects to all nodes at once",
    options: { redisOptions: { lazyConnect: false } },
    async run(cluster) {
      const isReady = (node: { status: string }): boolean => node.status === "ready";
      while (!cluster.nodes().every(isReady)) await sleep(5);
      return cluster.nodes().length;
    },
    expected: 6,
  },
  {
    title: "startupNodes may be replaced while it reconnects; the strategy is called on the client",
    async run(_cluster, make) {
      const seen: unknown[] = [];
      const moved = make(
        {
          clusterRetryStrategy(this: unknown, times: number) {
            seen.push(this === moved, times);
            moved.startupNodes = [...fixture.cluster.seeds];
            return 1;
          },
        } as ClusterOptions,
        NOBODY,
      );
      return [await moved.set("a", 1), seen];
    },
    expected: ["OK", [true, 1]],
  },
  {
    title: "statuses are events, without arguments",
    async run(_cluster, make) {
      const client = make({ lazyConnect: true, clusterRetryStrategy: () => 20 });
      const events: unknown[][] = [];
      for (const word of ["wait", "connecting", "refresh", "connect", "ready", "reconnecting", "select"]) {
        client.on(word, (...args: unknown[]) => events.push([word, ...args]));
      }
      await sleep(10);
      await client.connect();
      await sleep(10);
      const again = untilNext(client, "ready");
      client.disconnect(true);
      await again;
      await sleep(10);
      return events;
    },
    expected: [
      ["wait"],
      ["connecting"],
      ["refresh"],
      ["connect"],
      ["ready"],
      ["reconnecting"],
      ["connecting"],
      ["refresh"],
      ["connect"],
      ["ready"],
    ],
  },
  {
    title: "autoPipelineQueueSize counts what is gathered",
    options: { enableAutoPipelining: true },
    async run(cluster) {
      const calls = [cluster.get("a"), cluster.get("b"), cluster.set("c", 1)];
      const gathered = cluster.autoPipelineQueueSize;
      await Promise.all(calls);
      return [gathered, cluster.autoPipelineQueueSize];
    },
    expected: [3, 0],
  },
  {
    title: "quit() answers OK although a node is gone",
    async run(cluster) {
      await Promise.all(cluster.nodes("master").map((node) => node.ping()));
      cluster.nodes("master")[0]?.disconnect();
      const answer = await cluster.quit();
      const late = await tell(() => cluster.get("a"));
      // The one while it closes, the other after that.
      return [
        answer,
        /^Error: (None of startup nodes is available|Connection is closed\.)$/.test(String(late)),
      ];
    },
    expected: ["OK", true],
  },
  {
    title: "duplicate() with other nodes and options",
    options: { maxRedirections: 3, redisOptions: { connectionName: "one" } },
    async run(cluster, make) {
      const nodes = fixture.cluster.seeds.slice(0, 1);
      const copy = cluster.duplicate(nodes, { maxRedirections: 4, redisOptions: { noDelay: true } } as never);
      const { maxRedirections, redisOptions } = copy.options;
      await copy.quit();
      void make;
      return [copy.startupNodes.length, maxRedirections, redisOptions?.connectionName, redisOptions?.noDelay];
    },
    expected: [1, 4, "one", true],
  },
  {
    title: "streams over one key; none over the whole cluster there",
    async run(cluster) {
      await cluster.del("set");
      await cluster.sadd("set", "a", "b");
      const members: string[] = [];
      for await (const part of cluster.sscanStream("set")) members.push(...(part as string[]));
      return [
        members.sort(),
        typeof cluster.hscanStream,
        typeof cluster.zscanStream,
        typeof cluster.scanStream,
      ];
    },
    expected: [["a", "b"], "function", "function", "function"],
    published: [["a", "b"], "function", "function", "undefined"],
  },
  {
    title: "what a cluster client does not have",
    run: async (cluster) => ["monitor", "end", "mode"].filter((name) => name in cluster),
    expected: [],
  },
  {
    title: "errors of a node are events of that node too",
    async run(cluster) {
      const [node] = cluster.nodes("master");
      await node?.ping();
      const closed = new Promise((resolve) => node?.once("close", () => resolve("close")));
      const gone = untilNext(cluster, "-node").then((one) => one === node);
      node?.disconnect();
      return [await closed, await gone];
    },
    expected: ["close", true],
  },
];

function untilNext(client: Cluster, event: string): Promise<unknown> {
  return new Promise((resolve) => client.once(event, resolve));
}

async function verify(behaviour: Behaviour, library: Library): Promise<void> {
  const made: Cluster[] = [];
  const make: Make = (options = {}, nodes = fixture.cluster.seeds) => {
    const client = new library.Client(nodes, options);
    client.on("error", () => {});
    made.push(client);
    return client;
  };
  try {
    const cluster = make(behaviour.options);
    await untilClusterReady(cluster);
    const isOther = library.name === "ioredis" && behaviour.published !== undefined;
    const outcome = await behaviour.run(cluster, make, library);
    expect(outcome).to.deep.equal(isOther ? behaviour.published : behaviour.expected);
  } finally {
    for (const client of made) if (client.status !== "end") await closeCluster(client);
  }
}

for (const [place, kind] of serverKinds().entries()) {
  describe(`cluster: the contract on ${kind}`, () => {
    const own = new ClusterFixture(kind).install();
    before(async () => {
      fixture = own;
      await own.untilReplicasAreListed();
    });

    for (const library of LIBRARIES) {
      // The published client is asked once; the servers answer it alike.
      if (library.name === "ioredis" && place > 0) continue;
      describe(library.name, () => {
        for (const behaviour of BEHAVIOURS) it(behaviour.title, () => verify(behaviour, library));
      });
    }
  });
}
