/**
 * A real cluster for the tests of a `describe`, and the clients that they open: the shared one of three masters and three
 * replicas, or one of its own if it differs from that. Clusters are started in a hook, so that the leak check of a single
 * test does not see them; clients are closed after each test, also after one that ran out of time.
 */

import { findServer, ServerKind } from "../../scripts/servers/find-server";
import { ServerCluster, type ServerClusterOptions } from "../../scripts/servers/server-cluster";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { ClusterOptions } from "../../src/client/options/cluster-options";
import { Cluster } from "../../src/index";
import { borrowCluster, returnCluster } from "./shared-clusters";

const START_TIMEOUT_MS = 60_000;

/** Closes a cluster client and waits until it says that it has ended. */
export async function closeCluster(client: Cluster): Promise<void> {
  if (client.status === "end" || client.status === "wait") return;
  const ended = new Promise<void>((resolve) => client.once("end", () => resolve()));
  client.disconnect();
  await ended;
}

export class ClusterFixture {
  private servers: ServerCluster | null = null;
  private readonly clients: Cluster[] = [];

  constructor(
    private readonly kind: ServerKind = ServerKind.Redis,
    /** Of a cluster that differs from the shared one. */
    private readonly options?: Omit<ServerClusterOptions, "binary">,
  ) {}

  /** Registers the hooks of the surrounding `describe`. */
  install(): this {
    const fixture = this;
    before(async function () {
      this.timeout(START_TIMEOUT_MS);
      await fixture.start();
    });
    afterEach(async () => {
      await this.closeClients();
      // Opened at any time, they would count as left behind.
      for (const node of this.servers?.nodes ?? []) node.hangUp();
    });
    after(() => this.stop());
    return this;
  }

  get cluster(): ServerCluster {
    if (this.servers === null) throw new Error("The cluster is not running");
    return this.servers;
  }

  /** A client with an error listener; it is closed after the test. */
  connect(options: ClusterOptions = {}): Cluster {
    return this.connectTo(this.cluster.seeds, options);
  }

  connectTo(nodes: ConstructorParameters<typeof Cluster>[0], options: ClusterOptions = {}): Cluster {
    const client = new Cluster(nodes, options);
    client.on("error", () => {});
    this.clients.push(client);
    return client;
  }

  async closeClients(): Promise<void> {
    await Promise.all(this.clients.splice(0).map(closeCluster));
  }

  /** Removes all keys, at the replicas as well: one that is behind would bring them back at a failover. */
  async flush(): Promise<void> {
    const flushOne = async (master: ServerProcess): Promise<void> => {
      await master.command("FLUSHALL");
      await master.command("WAIT", 1, START_TIMEOUT_MS);
    };
    await Promise.all((await this.cluster.masters()).map(flushOne));
  }

  /** Waits until all nodes list all replicas: those without any data yet are not told. */
  async untilReplicasAreListed(): Promise<void> {
    const listsReplicas = async (): Promise<boolean> => {
      for (const node of this.cluster.nodes) {
        const slots = (await node.command("CLUSTER", "SLOTS")) as unknown[][];
        if (slots.some((entry) => entry.length < 4)) return false;
      }
      return true;
    };
    await waitUntil(listsReplicas, { timeoutMs: START_TIMEOUT_MS, what: "all replicas to be listed" });
  }

  private async start(): Promise<void> {
    this.servers =
      this.options === undefined
        ? await borrowCluster(this.kind)
        : await ServerCluster.start({ ...this.options, binary: await findServer(this.kind) });
  }

  private async stop(): Promise<void> {
    const { servers } = this;
    this.servers = null;
    if (servers === null) return;
    await (this.options === undefined ? returnCluster(servers) : servers.stop());
  }
}

/** Resolves when the client is ready. */
export function untilClusterReady(client: Cluster): Promise<void> {
  if (client.status === "ready") return Promise.resolve();
  return new Promise((resolve, reject) => {
    const onEnd = (): void => reject(new Error("The client ended before it was ready"));
    client.once("end", onEnd);
    client.once("ready", () => {
      client.removeListener("end", onEnd);
      resolve();
    });
  });
}
