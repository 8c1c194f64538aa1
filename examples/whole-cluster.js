// needs: cluster
// One command on every node, with replies and errors by node, and a scan whose cursor another process can continue.
const { Cluster } = require("sluice");

async function main() {
  const nodes = (process.env.CLUSTER_NODES ?? "localhost:7000").split(",");
  const cluster = new Cluster(nodes);

  const pipeline = cluster.pipeline();
  for (let id = 0; id < 100; id++) pipeline.set(`user:${id}`, id);
  await pipeline.exec();

  const sizes = await cluster.onAll("dbsize");
  for (const [node, size] of sizes.replies) console.log(`${node} has ${size} keys`);
  for (const [node, error] of sizes.errors) console.log(`${node} failed: ${error.message}`);
  console.log("all together:", sizes.merged());

  const versions = await cluster.onAll("info", ["server"], { nodes: "all", timeout: 1000 });
  for (const [node, text] of versions.replies)
    console.log(node, /(?:redis|valkey)_version:(\S+)/.exec(text)?.[1]);

  const [cursor, some] = await cluster.scanPage("0", { match: "user:*", count: 10 });
  console.log(`first page: ${some.length} keys`);

  // Another client can continue with the stored cursor.
  const other = new Cluster(nodes);
  const found = new Set(some);
  for (let next = cursor; next !== "0"; ) {
    const [following, keys] = await other.scanPage(next, { match: "user:*", count: 10 });
    for (const key of keys) found.add(key);
    next = following;
  }
  console.log(`all pages: ${found.size} keys`);

  await Promise.all([cluster.quit(), other.quit()]);
}

main();
