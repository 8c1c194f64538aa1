// needs: cluster
// One client for a cluster: single keys, hash tags, all masters, and a scan of all keys.
const { Cluster } = require("sluice");

async function main() {
  const cluster = new Cluster((process.env.CLUSTER_NODES ?? "localhost:7000").split(","));
  cluster.on("node error", (error, node) => console.log(`${node}: ${error.message}`));

  // The client sends each command to the node that serves the slot of its key.
  await cluster.set("user:1", "Ada");
  await cluster.set("user:2", "Grace");
  console.log(await Promise.all([cluster.get("user:1"), cluster.get("user:2")])); // [ 'Ada', 'Grace' ]

  // Keys of one command must share a slot. The text in braces determines the slot.
  await cluster.mset("{cart:7}:items", 3, "{cart:7}:total", 42);
  console.log(await cluster.mget("{cart:7}:items", "{cart:7}:total")); // [ '3', '42' ]
  await cluster.mget("user:1", "user:2").catch((error) => console.log(error.message)); // CROSSSLOT ...

  // A transaction runs on one node.
  console.log(await cluster.multi().incr("{cart:7}:items").decr("{cart:7}:total").exec());

  // The nodes are clients that use the existing connections.
  const sizes = await Promise.all(cluster.nodes("master").map((node) => node.dbsize()));
  console.log(`${sizes.length} masters, ${sizes.reduce((sum, size) => sum + size)} keys`);

  // All keys of all masters.
  const found = [];
  for await (const keys of cluster.scanStream({ match: "user:*" })) found.push(...keys);
  console.log(found.sort()); // [ 'user:1', 'user:2' ]

  // With this option, the client splits multi-key commands by slot. They are not atomic.
  const wide = cluster.duplicate([], { followCommandTips: true });
  console.log(await wide.mget("user:1", "user:2")); // [ 'Ada', 'Grace' ]
  console.log(await wide.del("user:1", "user:2", "{cart:7}:items", "{cart:7}:total")); // 4

  await Promise.all([cluster.quit(), wide.quit()]);
}

main();
