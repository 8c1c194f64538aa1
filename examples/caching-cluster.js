// needs: cluster
// One cache over all nodes of a cluster: each node tells what has changed at it.
const { once } = require("node:events");
const { Cluster } = require("sluice");

async function main() {
  const nodes = (process.env.CLUSTER_NODES ?? "localhost:7000").split(",");
  // What may speak of a missing key is believed for two seconds: nobody tells when its slot moves.
  const cluster = new Cluster(nodes, { cache: { maxBytes: 16 * 1024 * 1024, maxStale: 2000 } });
  const other = new Cluster(nodes);
  const keys = Array.from({ length: 100 }, (_, i) => `profile:${i}`);
  for (const key of keys) await other.set(key, "Ann");

  // The first answers of a node come before it has agreed to tell.
  while (keys.some((key) => cluster.cache.peek("get", key) === undefined)) {
    await Promise.all(keys.map((key) => cluster.get(key)));
  }

  // A pipeline over all nodes asks none of them.
  const { hits } = cluster.cache.stats();
  const pipeline = cluster.pipeline();
  for (const key of keys) pipeline.get(key);
  const rows = await pipeline.exec();
  console.log(rows.length, "rows,", cluster.cache.stats().hits - hits, "of them from the cache");

  // Somebody else changes one: its node tells.
  const told = once(cluster, "invalidate");
  await other.set("profile:7", "Bert");
  console.log("changed:", (await told)[0]);
  console.log(await cluster.get("profile:7"), await cluster.get("profile:8"));

  // Past the cache, and no older than a tenth of a second.
  console.log(await cluster.with({ cache: false }).get("profile:8"));
  console.log(await cluster.with({ cache: 100 }).get("profile:8"));

  const removal = other.pipeline();
  for (const key of keys) removal.del(key);
  await removal.exec();
  await Promise.all([cluster.quit(), other.quit()]);
}

main();
