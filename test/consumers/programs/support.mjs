/** Helpers of all programs: the server's address, waiting for something to become true, servers of their own. */

import { setTimeout as sleep } from "node:timers/promises";

export const host = process.env.REDIS_HOST;
export const port = Number(process.env.REDIS_PORT);
export const url = `redis://${host}:${port}`;
export const address = { host, port };

/** Waits until `condition` returns something truthy, and returns that. */
export async function until(condition, timeoutMs = 10_000) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`Not in ${timeoutMs} ms: ${condition}`);
    await sleep(10);
  }
}

/** The arguments of the next event of that name. */
export function next(emitter, name) {
  return new Promise((resolve) => emitter.once(name, (...args) => resolve(args)));
}

/** A server that a program may harm. The caller stops it. */
export async function startServer(config = {}) {
  const { ServerProcess } = await import(`${process.env.SLUICE_SERVERS_PATH}/server-process.js`);
  const { describeBinary } = await import(`${process.env.SLUICE_SERVERS_PATH}/server-binary.js`);
  return ServerProcess.start({ binary: await describeBinary(process.env.REDIS_BINARY, "given"), config });
}

/** A cluster of three masters with a replica each, and `connect` to make clients of it. The caller stops it. */
export async function startCluster() {
  const { ServerCluster } = await import(`${process.env.SLUICE_SERVERS_PATH}/server-cluster.js`);
  const { describeBinary } = await import(`${process.env.SLUICE_SERVERS_PATH}/server-binary.js`);
  const { Cluster } = await import("ioredis");
  const servers = await ServerCluster.start({
    binary: await describeBinary(process.env.REDIS_BINARY, "given"),
  });
  const clients = [];
  return {
    servers,
    slotOf: async (key) => Number(await servers.nodes[0].command("CLUSTER", "KEYSLOT", key)),
    connect(options) {
      const client = new Cluster(servers.seeds, options);
      client.on("error", () => {});
      clients.push(client);
      return client;
    },
    async stop() {
      for (const client of clients) client.disconnect();
      await servers.stop();
    },
  };
}
