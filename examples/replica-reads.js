// needs: cluster
// Reads from the replicas of a cluster, which take load from the masters and may lag behind them.
const { setTimeout: sleep } = require("node:timers/promises");
const { Cluster } = require("sluice");

async function main() {
  const nodes = (process.env.CLUSTER_NODES ?? "localhost:7000").split(",");
  const master = new Cluster(nodes);
  const replicas = new Cluster(nodes, { scaleReads: "slave" });
  const anywhere = new Cluster(nodes, { scaleReads: "all" });

  // A function chooses the node of each read. The master is the first of the list.
  const chosen = new Cluster(nodes, {
    scaleReads: ([first, ...others], command) => (command.name === "ttl" ? first : others),
  });

  await master.set("greeting", "hello", "EX", 60);
  while ((await replicas.get("greeting")) !== "hello") await sleep(10); // the replica catches up
  console.log(await replicas.get("greeting")); // hello
  while ((await anywhere.get("greeting")) !== "hello") await sleep(10);
  console.log((await chosen.ttl("greeting")) > 0); // true

  // Writes and transactions always go to the master. The client splits a pipeline.
  const rows = await replicas.pipeline().set("other", 1).get("greeting").exec();
  console.log(rows); // [ [ null, 'OK' ], [ null, 'hello' ] ]

  // Read from the master to see your own write.
  await replicas.set("greeting", "goodbye");
  console.log(await master.get("greeting")); // goodbye

  await master.del("greeting");
  await master.del("other");
  await Promise.all([master, replicas, anywhere, chosen].map((client) => client.quit()));
}

main();
