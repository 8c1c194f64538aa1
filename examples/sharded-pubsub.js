// needs: cluster
// Shard channels: the node that serves the slot of a channel delivers its messages.
const { Cluster } = require("sluice");

async function main() {
  const nodes = (process.env.CLUSTER_NODES ?? "localhost:7000").split(",");
  const publisher = new Cluster(nodes);
  const subscriber = new Cluster(nodes, { shardedSubscribers: true });

  // Emitted when all subscriptions are restored after a lost connection or a moved slot.
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

  // Channels of one call must share a slot.
  for (const channel of channels) await subscriber.ssubscribe(channel);
  for (const channel of channels) await publisher.spublish(channel, "new");
  await all;
  console.log(seen.sort());

  // Channels with the same hash tag share a slot and a node.
  await subscriber.ssubscribe("{room:1}:chat", "{room:1}:presence");
  console.log(await publisher.spublish("{room:1}:chat", "hello")); // 1 receiver

  await subscriber.sunsubscribe();
  await Promise.all([publisher.quit(), subscriber.quit()]);
}

main();
