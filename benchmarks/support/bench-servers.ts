/**
 * The servers of the benchmarks: one plain server, and clusters of one to three masters without replicas.
 *
 * Each is started when it is first needed, filled with the data set, moved to the server's CPU, and stopped
 * at the end.
 */

import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Certificates } from "../../scripts/servers/certificates";
import { findAnyServer } from "../../scripts/servers/find-server";
import { freePort } from "../../scripts/servers/free-port";
import { type ServerBinary, supportsTls } from "../../scripts/servers/server-binary";
import { ServerProcess } from "../../scripts/servers/server-process";
import type { Target } from "../sides/side";
import { pinProcess } from "./child-process";
import { seed } from "./dataset";

const SLOT_COUNT = 16_384;
const POLL_MS = 50;
/** Replies to a million commands may wait for a busy client: the server must not close its connection. */
const COMMON_CONFIG = { "client-output-buffer-limit": "normal 0 0 0" };

interface TlsLine {
  readonly config: Record<string, string>;
  readonly line: Pick<Target, "tls">;
}

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
    const tls = wanted === 0 ? await this.findTls() : undefined;
    const servers = wanted === 0 ? [await this.start(tls?.config ?? {})] : await this.startCluster(wanted);
    const nodes = servers.map(({ host, port }) => ({ host, port }));
    await seed(nodes);
    const [first] = servers;
    const lines = wanted === 0 && first !== undefined ? { unixPath: first.unixSocketPath, ...tls?.line } : {};
    const target = { nodes, isCluster: wanted > 0, ...lines };
    this.targets.set(wanted, target);
    return target;
  }

  async stop(): Promise<void> {
    await Promise.all(this.started.map((server) => server.stop()));
  }

  /** The plain server listens with TLS as well, on a port of its own, where server and machine can do that. */
  private async findTls(): Promise<TlsLine | undefined> {
    if (!(await supportsTls(this.binary.path))) return undefined;
    try {
      const certificates = new Certificates();
      const port = await freePort();
      return {
        config: { "tls-port": String(port), "tls-auth-clients": "no", ...certificates.serverConfig() },
        line: { tls: { port, caFile: path.join(certificates.directory, "authority.crt") } },
      };
    } catch {
      return undefined; // no openssl
    }
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
