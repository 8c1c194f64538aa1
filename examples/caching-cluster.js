// needs: cluster
// One cache for all nodes of a cluster: each node reports changes of its keys.
const { once } = require("node:events");
const { Cluster } = require("sluice");

async function main() {
  const nodes = (process.env.CLUSTER_NODES ?? "localhost:7000").split(",");
  // Replies about missing keys expire after two seconds, because servers do not report a moved slot.
  const cluster = new Cluster(nodes, { cache: { maxBytes: 16 * 1024 * 1024, maxStale: 2000 } });
  const other = new Cluster(nodes);
  const keys = Array.from({ length: 100 }, (_, i) => `profile:${i}`);
  for (const key of keys) await other.set(key, "Ann");

  // The cache does not keep replies of a node before the node has confirmed tracking.
  while (keys.some((key) => cluster.cache.peek("get", key) === undefined)) {
    await Promise.all(keys.map((key) => cluster.get(key)));
  }

  // The cache answers this pipeline, so no node receives a command.
  const { hits } = cluster.cache.stats();
  const pipeline = cluster.pipeline();
  for (const key of keys) pipeline.get(key);
  const rows = await pipeline.exec();
  console.log(rows.length, "rows,", cluster.cache.stats().hits - hits, "of them from the cache");

  // Another client changes a key, and its node reports the change.
  const told = once(cluster, "invalidate");
  await other.set("profile:7", "Bert");
  console.log("changed:", (await told)[0]);
  console.log(await cluster.get("profile:7"), await cluster.get("profile:8"));

  // One read without the cache, one with a cached reply of at most 100 ms.
  console.log(await cluster.with({ cache: false }).get("profile:8"));
  console.log(await cluster.with({ cache: 100 }).get("profile:8"));

  const removal = other.pipeline();
  for (const key of keys) removal.del(key);
  await removal.exec();
  await Promise.all([cluster.quit(), other.quit()]);
}

main();
