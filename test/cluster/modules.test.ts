/** Methods of module commands on a real cluster: each command is sent to the owner of its keys, so no node redirects it. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { expect } from "chai";
import { ServerCluster } from "../../scripts/servers/server-cluster";
import { Cluster } from "../../src/index";
import { closeCluster, untilClusterReady } from "../support/cluster-fixture";
import { checkReply, invoke, MODULE_CALLS } from "../support/module-calls";
import { missingCommand, moduleServer } from "../support/module-server";

/** The wheels may have to be downloaded. */
const START_TIMEOUT_MS = 300_000;
/** A node answers these for its own data only, or with names of keys, which have a prefix here. */
const OF_ONE_NODE = /^(?:ft|ts\.(?:mget|mrange|mrevrange|queryindex|info))\b/;
const FAMILIES = ["json", "ts", "bf", "cf", "cms", "topk", "tdigest"];

describe("cluster: methods of module commands", () => {
  let servers: ServerCluster;

  before(async function () {
    this.timeout(START_TIMEOUT_MS);
    servers = await ServerCluster.start({ ...(await moduleServer()), replicasPerMaster: 0 });
    const [node] = servers.nodes;
    const missing = node === undefined ? "nodes" : await missingCommand(node);
    node?.hangUp();
    if (missing === null) return;
    console.log(`      skipped: the server at hand has no ${missing}`);
    this.skip();
  });
  after(() => servers?.stop());

  for (const protocol of [2, 3] as const) {
    it(`are sent to the owners of their keys, protocol ${protocol}`, async () => {
      const form = { protocol, replyMapping: "legacy" } as const;
      const redirects: unknown[] = [];
      const note = (message: unknown): void => void redirects.push(message);
      subscribe("sluice:redirect", note);
      for (const family of FAMILIES) {
        // One slot for each family, because some commands have several keys.
        const options = { keyPrefix: `{${family}}`, redisOptions: form };
        const cluster = new Cluster(servers.seeds, options);
        await untilClusterReady(cluster);
        await cluster.onAll("flushall");
        for (const call of MODULE_CALLS) {
          const [name, args] = call;
          if (!name.startsWith(`${family}.`) || OF_ONE_NODE.test(name)) continue;
          const value = await Promise.resolve(invoke(cluster, name, args)).catch((error: Error) => error);
          checkReply(form, call, value);
        }
        await closeCluster(cluster);
      }
      unsubscribe("sluice:redirect", note);
      expect(redirects).to.deep.equal([]);
    });
  }
});
