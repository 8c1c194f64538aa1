/**
 * The servers that are measured against: one plain server, and clusters of one to three masters without replicas.
 *
 * Each is started when it is first needed, filled with the data set, moved to the server's CPU, and stopped at the end.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { findAnyServer } from "../../scripts/servers/find-server";
import type { ServerBinary } from "../../scripts/servers/server-binary";
import { ServerProcess } from "../../scripts/servers/server-process";
import type { Target } from "../sides/side";
import { pinProcess } from "./child-process";
import { seed } from "./dataset";

const SLOT_COUNT = 16_384;
const POLL_MS = 50;
/** Replies of a million commands may wait for a client that is busy; the server must not hang up on it. */
const COMMON_CONFIG = { "client-output-buffer-limit": "normal 0 0 0" };

export class BenchServers {
  private readonly started: ServerProcess[] = [];
  private readonly targets = new Map<number, Target>();

  private constructor(
    private readonly binary: ServerBinary,
    private readonly cpu: number | undefined,
  ) {}

  static async find(cpu: number | undefined): Promise<BenchServers> {
    return new BenchServers(await findAnyServer((line) => process.stderr.write(`${line}\n`)), cpu);
  }

  get description(): string {
    return `${this.binary.product} ${this.binary.version}`;
  }

  /** One plain server, or a cluster of so many masters. */
  async target(masters: number | undefined): Promise<Target> {
    const wanted = masters ?? 0;
    const known = this.targets.get(wanted);
    if (known !== undefined) return known;
    const servers = wanted === 0 ? [await this.start({})] : await this.startCluster(wanted);
    const nodes = servers.map(({ host, port }) => ({ host, port }));
    await seed(nodes);
    const target = { nodes, isCluster: wanted > 0 };
    this.targets.set(wanted, target);
    return target;
  }

  async stop(): Promise<void> {
    await Promise.all(this.started.map((server) => server.stop()));
  }

  private async start(config: Record<string, string>): Promise<ServerProcess> {
    const server = await ServerProcess.start({
      binary: this.binary,
      config: { ...COMMON_CONFIG, ...config },
    });
    this.started.push(server);
    if (this.cpu !== undefined) pinProcess(server.pid, this.cpu);
    return server;
  }

  private async startCluster(masters: number): Promise<ServerProcess[]> {
    const config = {
      "cluster-enabled": "yes",
      "cluster-config-file": "nodes.conf",
      "cluster-announce-ip": "127.0.0.1", // a lone master does not know its own address
    };
    const servers: ServerProcess[] = [];
    for (let index = 0; index < masters; index++) servers.push(await this.start(config));
    const [first] = servers;
    for (const [index, server] of servers.entries()) {
      const from = Math.ceil((index * SLOT_COUNT) / masters);
      const to = Math.ceil(((index + 1) * SLOT_COUNT) / masters) - 1;
      await server.command("CLUSTER", "ADDSLOTSRANGE", from, to);
      if (first !== undefined && server !== first)
        await first.command("CLUSTER", "MEET", server.host, server.port);
    }
    for (const server of servers) await untilClusterIsUp(server, masters);
    return servers;
  }
}

async function untilClusterIsUp(server: ServerProcess, masters: number): Promise<void> {
  for (;;) {
    const info = String(await server.command("CLUSTER", "INFO"));
    if (info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${masters}`)) return;
    await sleep(POLL_MS);
  }
}
