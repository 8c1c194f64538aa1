/**
 * Tries on one client, in a process of its own, what the table of docs/comparison.md says about it, and prints an
 * answer for each row: `probe.cjs CLIENT CLIENT_PATH SERVER_PORT CLUSTER_PORT...`.
 */

"use strict";

const { Socket } = require("node:net");
const { setTimeout: sleep } = require("node:timers/promises");

const [name, sluice, ...ports] = process.argv.slice(2);
const host = "127.0.0.1";
const [{ port }, ...nodes] = ports.map((text) => ({ host, port: Number(text) }));
/** Of three masters: keys of several slots. */
const KEYS = ["foo", "bar", "hello", "world"];
const PAUSE_MS = 1_500;
const SOON_MS = 500;

const ofIoredis = (Redis) => ({
  at: async (address) => new Redis(address),
  one: async (options = {}) => new Redis({ host, port, ...options }),
  whole: async (options = {}) => new Redis.Cluster(nodes, options),
  call: (client, ...words) => client.call(...words),
  pipeline: async (client, keys) => {
    const pipeline = client.pipeline();
    for (const key of keys) pipeline.get(key);
    const rows = await pipeline.exec();
    if (rows.some(([error]) => error)) throw rows.find(([error]) => error)[0];
    return rows.length;
  },
  close: (client) => client.disconnect(),
  hasSentinel: () =>
    typeof Redis.SentinelConnector === "function" || typeof Redis.SentinelIterator === "function",
  timed: (client) => client.with?.({ timeout: 50 }),
  abortable: (client, signal) => client.with?.({ signal }),
  cache: { cache: true },
});

const ofNodeRedis = (redis) => ({
  at: async (socket) => redis.createClient({ socket }).connect(),
  one: async (options = {}) => {
    const client = redis.createClient({ socket: { host, port }, ...options });
    client.on("error", () => {});
    return client.connect();
  },
  whole: async (options = {}) => {
    const cluster = redis.createCluster({ rootNodes: nodes.map((socket) => ({ socket })), ...options });
    cluster.on("error", () => {});
    await cluster.connect();
    return cluster;
  },
  call: (client, ...words) => client.sendCommand(words),
  pipeline: async (client, keys) => {
    const multi = client.multi();
    for (const key of keys) multi.get(key);
    return (await multi.execAsPipeline()).length;
  },
  close: (client) => client.destroy(),
  hasSentinel: () => typeof redis.createSentinel === "function",
  timed: (client) => client.withCommandOptions({ timeout: 50 }),
  abortable: (client, abortSignal) => client.withAbortSignal(abortSignal),
  cache: { clientSideCache: { ttl: 0, maxEntries: 0 } },
});

const ofGlide = (glide) => {
  const { GlideClient, GlideClusterClient, Batch, ClusterBatch, ClientSideCache } = glide;
  const addresses = (list) => ({ addresses: list, requestTimeout: 60_000 });
  return {
    at: (address) => GlideClient.createClient(addresses([address])),
    one: (options = {}) => GlideClient.createClient({ ...addresses([{ host, port }]), ...options }),
    whole: (options = {}) => GlideClusterClient.createClient({ ...addresses(nodes), ...options }),
    call: (client, ...words) => client.customCommand(words),
    pipeline: async (client, keys) => {
      const batch = client instanceof GlideClient ? new Batch(false) : new ClusterBatch(false);
      for (const key of keys) batch.get(key);
      return (await client.exec(batch, true)).length;
    },
    close: (client) => client.close(),
    hasSentinel: () => Object.keys(glide).some((key) => /sentinel/i.test(key)),
    timed: () => undefined,
    abortable: () => undefined,
    cache: { clientSideCache: ClientSideCache.create(1_024, 0, { serverAssisted: true }) },
  };
};

const CLIENTS = {
  sluice: () => ofIoredis(require(sluice)),
  ioredis: () => ofIoredis(require("ioredis")),
  iovalkey: () => ofIoredis(require("iovalkey")),
  "node-redis": () => ofNodeRedis(require("redis")),
  "valkey-glide": () => ofGlide(require("@valkey/valkey-glide")),
};

const client = CLIENTS[name]();
const answer = (isSo) => (isSo ? "yes" : "no");

async function withOne(work, options) {
  const one = await client.one(options);
  try {
    await one.ping();
    return await work(one);
  } finally {
    client.close(one);
  }
}

async function withWhole(work, options) {
  const whole = await client.whole(options);
  try {
    return await work(whole);
  } finally {
    client.close(whole);
  }
}

const isRejected = (work) =>
  work().then(
    () => false,
    () => true,
  );

/** Writes to sockets while the work runs; a client with a native core writes elsewhere, which the server counts. */
async function readsOfServer(one, work) {
  const reads = async () =>
    Number(/total_reads_processed:(\d+)/.exec(String(await client.call(one, "INFO", "stats")))[1]);
  const before = await reads();
  await work();
  return (await reads()) - before;
}

async function sharesWrites() {
  return withOne(async (one) => {
    let writes = 0;
    for (const method of ["_write", "_writev"]) {
      const original = Socket.prototype[method];
      if (original === undefined) continue;
      Socket.prototype[method] = function (...args) {
        writes++;
        return original.apply(this, args);
      };
    }
    const burst = () => Promise.all(Array.from({ length: 50 }, (_, index) => one.get(`key:${index}`)));
    const reads = await readsOfServer(one, burst);
    return answer(Math.max(writes, reads) < 25);
  });
}

/** Whether a call ends soon while the server is silent. */
async function endsEarly(prepare) {
  return withOne(async (one) => {
    const pauser = await client.one();
    try {
      const proxy = prepare(one);
      if (proxy === undefined) return "no";
      await client.call(pauser, "CLIENT", "PAUSE", String(PAUSE_MS), "ALL");
      const call = Promise.resolve(proxy.get("key")).then(
        () => "no",
        () => "yes",
      );
      const verdict = await Promise.race([call, sleep(SOON_MS, "no")]);
      await sleep(PAUSE_MS);
      await call;
      return verdict;
    } finally {
      client.close(pauser);
    }
  });
}

/** How many GETs the servers have run. */
async function getsOf(addresses) {
  const counts = addresses.map(async (address) => {
    const one = await client.at(address);
    const stats = String(await client.call(one, "INFO", "commandstats"));
    client.close(one);
    return Number(/cmdstat_get:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

/** Whether the second read of a key sends nothing, and a write of another client is seen. */
async function caches(isCluster) {
  const open = isCluster ? client.whole : client.one;
  const addresses = isCluster ? nodes : [{ host, port }];
  const [reader, writer] = [await open(client.cache), await open()];
  try {
    const key = `comparison:${name}`;
    await writer.set(key, "1");
    // The first read may be older than the connection's tracking.
    await reader.get(key);
    await reader.get(key);
    const before = await getsOf(addresses);
    await reader.get(key);
    const isHit = (await getsOf(addresses)) === before;
    await writer.set(key, "2");
    await sleep(SOON_MS);
    return answer(isHit && String(await reader.get(key)) === "2");
  } finally {
    client.close(reader);
    client.close(writer);
  }
}

const ROWS = {
  "ioredis API": () =>
    withOne(async (one) => {
      if (typeof one.pipeline !== "function" || typeof one.hgetall !== "function") return "no";
      const rows = await one.pipeline().set("a", "1").get("a").exec();
      return answer(JSON.stringify(rows) === '[[null,"OK"],[null,"1"]]');
    }),
  Callbacks: () =>
    withOne((one) =>
      Promise.race([
        new Promise((resolve) => {
          Promise.resolve()
            .then(() => one.get("a", () => resolve("yes")))
            .catch(() => resolve("no"));
        }),
        sleep(SOON_MS, "no"),
      ]),
    ),
  "Commands of one turn share writes by default": sharesWrites,
  "Cluster pipeline with keys of several slots": () =>
    withWhole(async (whole) => {
      await Promise.all(KEYS.map((key) => whole.set(key, "1")));
      const isRefused = await isRejected(() => client.pipeline(whole, KEYS));
      return answer(!isRefused);
    }),
  Sentinel: async () => answer(client.hasSentinel()),
  "RESP3 by default": () =>
    withOne(async (one) => {
      const info = String(await client.call(one, "CLIENT", "INFO"));
      return answer(/resp=3/.test(info));
    }),
  "Timeout for one call, even after it is written": () => endsEarly((one) => client.timed(one)),
  "Abort signal for one call, even after it is written": () =>
    endsEarly((one) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 50);
      return client.abortable(one, controller.signal);
    }),
  "Client-side cache": () => caches(false),
  "Client-side cache on a cluster": () => caches(true),
  "Stream consumers that take over from dead ones": () =>
    withOne(async (one) => {
      if (typeof one.consume !== "function") return "no";
      const stream = `comparison:jobs:${name}`;
      await client.call(one, "XGROUP", "CREATE", stream, "workers", "0", "MKSTREAM");
      await client.call(one, "XADD", stream, "*", "n", "1");
      await client.call(one, "XREADGROUP", "GROUP", "workers", "dead", "STREAMS", stream, ">");
      const settings = { stream, group: "workers", consumer: "living", claimIdleMs: 100 };
      for await (const { fields, deliveries } of one.consume(settings))
        return answer(fields.n === "1" && deliveries === 2);
    }),
  "Rejects `undefined` as an argument by default": () =>
    withOne(async (one) => answer(await isRejected(async () => one.set(`comparison:${name}`, undefined)))),
  "Scores are numbers by default": () =>
    withOne(async (one) => {
      const key = `comparison:scores:${name}`;
      await client.call(one, "ZADD", key, "2.5", "a");
      return answer(typeof (await (one.zscore ?? one.zScore).call(one, key, "a")) === "number");
    }),
  "Native code": async () =>
    answer(process.report.getReport().sharedObjects.some((path) => /\.node$/.test(path))),
};

(async () => {
  const answers = {};
  for (const [row, probe] of Object.entries(ROWS)) {
    answers[row] = await probe().catch((error) => `no: ${error.message.split("\n")[0]}`);
  }
  console.log(JSON.stringify(answers));
  process.exit();
})();
