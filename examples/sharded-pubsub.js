// needs: cluster
// Shard channels: each lives on the node that serves its slot, so that messages stay on one shard.
const { Cluster } = require("sluice");

async function main() {
  const nodes = (process.env.CLUSTER_NODES ?? "localhost:7000").split(",");
  const publisher = new Cluster(nodes);
  const subscriber = new Cluster(nodes, { shardedSubscribers: true });

  // Told when all is subscribed again after a lost connection or a slot that has moved.
  subscriber.on("gap", ({ shardChannels, lastedMs }) => {
    console.log(`messages of ${shardChannels.join(", ")} may be missing: ${lastedMs} ms`);
  });

  const channels = ["orders:eu", "orders:us", "orders:asia"];
  const seen = [];
  const all = new Promise((resolve) => {
    subscriber.on("smessage", (channel, message) => {
      if (seen.push(`${channel}: ${message}`) === channels.length) resolve();
    });
  });

  // One call, one slot: channels of several slots take several calls.
  for (const channel of channels) await subscriber.ssubscribe(channel);
  for (const channel of channels) await publisher.spublish(channel, "new");
  await all;
  console.log(seen.sort());

  // Channels with one hash tag share a slot and so a node.
  await subscriber.ssubscribe("{room:1}:chat", "{room:1}:presence");
  console.log(await publisher.spublish("{room:1}:chat", "hello")); // 1 receiver

  await subscriber.sunsubscribe();
  await Promise.all([publisher.quit(), subscriber.quit()]);
}

main();
