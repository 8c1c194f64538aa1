/** One master, its replicas, and the sentinels that watch over them, as child processes. */

import type { ServerBinary } from "./server-binary";
import { ServerProcess } from "./server-process";
import { waitUntil } from "./wait-until";

const FORMATION_TIMEOUT_MS = 30_000;

export interface ServerSentinelsOptions {
  readonly binary: ServerBinary;
  readonly replicas?: number;
  readonly sentinels?: number;
  readonly downAfterMs?: number;
  /** For master and replicas. */
  readonly config?: Readonly<Record<string, string | number>>;
  /** For the sentinels. */
  readonly sentinelConfig?: Readonly<Record<string, string | number>>;
}

export class ServerSentinels {
  readonly groupName = "mymaster";
  /** Master first; after a failover ask `master()`. */
  readonly servers: ServerProcess[] = [];
  readonly sentinels: ServerProcess[] = [];

  private constructor(private readonly options: ServerSentinelsOptions) {}

  /** Starts 1 master, 2 replicas and 3 sentinels unless told otherwise, and waits until the sentinels see all. */
  static async start(options: ServerSentinelsOptions): Promise<ServerSentinels> {
    const group = new ServerSentinels(options);
    try {
      await group.startServers();
      await group.startSentinels();
    } catch (error) {
      await group.stop();
      throw error;
    }
    return group;
  }

  /** Addresses of the sentinels, as a client takes them. */
  get addresses(): { host: string; port: number }[] {
    return this.sentinels.map(({ host, port }) => ({ host, port }));
  }

  /** The server that the sentinels hold for the master now. */
  async master(): Promise<ServerProcess> {
    const sentinel = this.sentinels.find((candidate) => candidate.isRunning);
    const address = await sentinel?.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.groupName);
    const port = Array.isArray(address) ? Number(address[1]) : Number.NaN;
    const server = this.servers.find((candidate) => candidate.port === port);
    if (server === undefined) throw new Error(`The sentinels name no known master (${String(address)})`);
    return server;
  }

  /** Asks for a failover and waits until another server is master. */
  async failover(): Promise<ServerProcess> {
    const before = await this.master();
    await this.sentinels[0]?.command("SENTINEL", "FAILOVER", this.groupName);
    return this.untilMasterIsNot(before);
  }

  /** Waits until every running sentinel names the same new master and that one says so itself. */
  async untilMasterIsNot(before: ServerProcess, timeoutMs = FORMATION_TIMEOUT_MS): Promise<ServerProcess> {
    let master = before;
    const isAgreed = async (): Promise<boolean> => {
      master = await this.master();
      if (master === before) return false;
      const role = (await master.command("ROLE")) as string[];
      const running = this.sentinels.filter((sentinel) => sentinel.isRunning);
      const answers = await Promise.all(
        running.map((sentinel) => sentinel.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.groupName)),
      );
      return (
        role[0] === "master" && answers.every((answer) => Number((answer as string[])[1]) === master.port)
      );
    };
    await waitUntil(isAgreed, { timeoutMs, what: "a new master" });
    return master;
  }

  /** Waits until every sentinel sees all replicas and all other sentinels, and can order a failover. */
  async untilHealthy(timeoutMs = FORMATION_TIMEOUT_MS): Promise<void> {
    const isHealthy = async (): Promise<boolean> => {
      const views = await Promise.all(this.sentinels.map((sentinel) => this.viewOf(sentinel)));
      return views.every(
        (view) =>
          Number(view.get("num-slaves")) === this.servers.length - 1 &&
          Number(view.get("num-other-sentinels")) === this.sentinels.length - 1 &&
          view.get("flags") === "master",
      );
    };
    await waitUntil(isHealthy, { timeoutMs, what: "sentinels that see all servers" });
  }

  /** Removes all keys of the master. */
  async flush(): Promise<void> {
    await (await this.master()).flush();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server.stop()));
  }

  private async viewOf(sentinel: ServerProcess): Promise<Map<string, string>> {
    const flat = (await sentinel.command("SENTINEL", "MASTER", this.groupName)) as string[];
    const view = new Map<string, string>();
    for (let index = 0; index + 1 < flat.length; index += 2)
      view.set(flat[index] ?? "", flat[index + 1] ?? "");
    return view;
  }

  private async startServers(): Promise<void> {
    const { binary, replicas = 2, config = {} } = this.options;
    const common = { "repl-diskless-sync": "yes", "repl-diskless-sync-delay": 0, ...config };
    const master = await ServerProcess.start({ binary, config: common });
    this.servers.push(master);
    for (let index = 0; index < replicas; index++) {
      const replicaof = `${master.host} ${master.port}`;
      this.servers.push(await ServerProcess.start({ binary, config: { ...common, replicaof } }));
    }
    const areLinked = async (): Promise<boolean> => {
      const infos = await Promise.all(
        this.servers.slice(1).map(async (replica) => String(await replica.command("INFO", "replication"))),
      );
      return infos.every((info) => info.includes("master_link_status:up"));
    };
    await waitUntil(areLinked, { timeoutMs: FORMATION_TIMEOUT_MS, what: "replicas in step" });
  }

  private async startSentinels(): Promise<void> {
    const { binary, sentinels = 3, downAfterMs = 1_000, sentinelConfig = {} } = this.options;
    const [master] = this.servers;
    const quorum = Math.floor(sentinels / 2) + 1;
    for (let index = 0; index < sentinels; index++) {
      const config = {
        "sentinel monitor": `${this.groupName} ${master?.host} ${master?.port} ${quorum}`,
        "sentinel down-after-milliseconds": `${this.groupName} ${downAfterMs}`,
        "sentinel failover-timeout": `${this.groupName} 5000`,
        "sentinel parallel-syncs": `${this.groupName} 2`,
        ...sentinelConfig,
      };
      this.sentinels.push(await ServerProcess.start({ binary, config, sentinel: true }));
    }
    await this.untilHealthy();
  }
}
