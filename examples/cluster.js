// needs: cluster
// One client for a whole cluster: any key, hash tags, all masters at once, every key of all of them.
const { Cluster } = require("sluice");

async function main() {
  const cluster = new Cluster((process.env.CLUSTER_NODES ?? "localhost:7000").split(","));
  cluster.on("node error", (error, node) => console.log(`${node}: ${error.message}`));

  // Each command goes to the node that serves the slot of its key.
  await cluster.set("user:1", "Ada");
  await cluster.set("user:2", "Grace");
  console.log(await Promise.all([cluster.get("user:1"), cluster.get("user:2")])); // [ 'Ada', 'Grace' ]

  // Keys of one command must share a slot. What stands in braces decides about it.
  await cluster.mset("{cart:7}:items", 3, "{cart:7}:total", 42);
  console.log(await cluster.mget("{cart:7}:items", "{cart:7}:total")); // [ '3', '42' ]
  await cluster.mget("user:1", "user:2").catch((error) => console.log(error.message)); // CROSSSLOT ...

  // A transaction is one unit on one node.
  console.log(await cluster.multi().incr("{cart:7}:items").decr("{cart:7}:total").exec());

  // The nodes are ordinary clients over the same connections.
  const sizes = await Promise.all(cluster.nodes("master").map((node) => node.dbsize()));
  console.log(`${sizes.length} masters, ${sizes.reduce((sum, size) => sum + size)} keys`);

  // All keys of all masters.
  const found = [];
  for await (const keys of cluster.scanStream({ match: "user:*" })) found.push(...keys);
  console.log(found.sort()); // [ 'user:1', 'user:2' ]

  // With this option such commands are split by slot and sent to all shards. It is not atomic.
  const wide = cluster.duplicate([], { followCommandTips: true });
  console.log(await wide.mget("user:1", "user:2")); // [ 'Ada', 'Grace' ]
  console.log(await wide.del("user:1", "user:2", "{cart:7}:items", "{cart:7}:total")); // 4

  await Promise.all([cluster.quit(), wide.quit()]);
}

main();
