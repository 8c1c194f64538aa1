// needs: cluster
// A pipeline with any keys: split by node, sent in parallel, rows in the order of the calls.
const { Cluster } = require("sluice");

async function main() {
  const cluster = new Cluster((process.env.CLUSTER_NODES ?? "localhost:7000").split(","));

  const pipeline = cluster.pipeline();
  for (let i = 0; i < 1000; i++) pipeline.set(`item:${i}`, i);
  const rows = await pipeline.exec();
  console.log(rows.filter(([error]) => error === null).length); // 1000

  // A failed command has its error in its own row. The other commands are not affected.
  const mixed = await cluster.pipeline().get("item:1").mget("item:1", "item:2").get("item:3").exec();
  for (const [error, value] of mixed) console.log(error ? error.message : value); // 1, CROSSSLOT ..., 3

  // A transaction inside a pipeline is sent as a whole. Only its own keys must share a slot.
  const group = cluster.pipeline();
  group.incr("hits").multi().set("{job:1}:state", "done").incr("{job:1}:runs").exec().get("item:5");
  console.log((await group.exec()).map(([error, value]) => error ?? value));

  // Automatic batches: calls of one event-loop turn form one batch for each node.
  const automatic = cluster.duplicate([], { enableAutoPipelining: true });
  const values = await Promise.all(Array.from({ length: 100 }, (_, i) => automatic.get(`item:${i}`)));
  console.log(values.length); // 100

  // Millions of keys: commands from any iterable, with constant memory.
  function* removals() {
    for (let i = 0; i < 1000; i++) yield ["del", `item:${i}`];
    for (const key of ["hits", "{job:1}:state", "{job:1}:runs"]) yield ["del", key];
  }
  let removed = 0;
  for await (const [error, count] of cluster.bulk(removals())) removed += error ? 0 : count;
  console.log(removed); // 1003

  await Promise.all([cluster.quit(), automatic.quit()]);
}

main();
