// needs: sentinel
// Servers behind Sentinel: one client for the master, one for a replica.
const Redis = require("sluice");

async function main() {
  const sentinels = (process.env.SENTINELS ?? "localhost:26379").split(",").map((address) => {
    const [host, port] = address.split(":");
    return { host, port: Number(port) };
  });
  const group = { sentinels, name: process.env.GROUP_NAME ?? "mymaster" };

  const master = new Redis({ ...group, failoverDetector: true });
  const replica = new Redis({ ...group, role: "slave" });
  master.on("sentinelError", (error) => console.log(error.message));
  master.on("close", () => console.log("the master is gone or demoted; asking the sentinels again"));

  await master.set("key", "value");
  const copies = await master.wait(1, 1000);
  console.log(`a replica has it: ${copies >= 1}`);
  console.log(await master.info("replication").then((info) => /role:(\w+)/.exec(info)[1])); // master
  console.log(await replica.info("replication").then((info) => /role:(\w+)/.exec(info)[1])); // slave

  await master.del("key");
  await Promise.all([master.quit(), replica.quit()]);
}

main();
