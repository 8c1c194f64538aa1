/**
 * A primary with replicas, each behind a proxy of its own on the replication connection, so that a test can delay or cut
 * what a replica hears. Everything is closed by a hook. Servers that a test has stopped, promoted or set otherwise are
 * replaced for the next one.
 */

import type { ServerKind } from "../../scripts/servers/find-server";
import type { ServerProcess } from "../../scripts/servers/server-process";
import { waitUntil } from "../../scripts/servers/wait-until";
import type { RedisOptions } from "../../src/client/options/redis-options";
import { Redis } from "../../src/index";
import { FeedLine } from "./feed-line";
import { closeClient } from "./matrix";
import { startServer } from "./shared-servers";

const CONFIG = {
  "enable-debug-command": "local",
  "repl-diskless-sync-delay": 0,
  "repl-ping-replica-period": 1,
  "repl-timeout": 60,
};

/** A replica, and the proxy between it and its primary. */
export interface FixtureReplica {
  readonly server: ServerProcess;
  readonly feed: FeedLine;
}

export class ReplicaFixture {
  primary!: ServerProcess;
  replicas: FixtureReplica[] = [];
  private readonly clients: Redis[] = [];
  private settingsAtStart = "";

  constructor(
    private readonly kind: ServerKind,
    private readonly size = 2,
    /** Further settings of the primary. */
    private readonly ofPrimary: Readonly<Record<string, string>> = {},
  ) {}

  /** Registers the hooks of the surrounding `describe`. */
  install(): this {
    before(() => this.start());
    afterEach(async () => {
      await Promise.all(this.clients.splice(0).map(closeClient));
      // A server that does not run has no settings.
      const settings = await this.settings().catch(() => null);
      if (settings === this.settingsAtStart) return this.empty();
      await this.stop();
      await this.start();
    });
    after(() => this.stop());
    return this;
  }

  /** A client of the primary and all replicas, ready to read from each of them. */
  async connect(options: RedisOptions = {}): Promise<Redis> {
    const redis = this.open(options);
    await this.untilReading(redis, this.size);
    return redis;
  }

  open(options: RedisOptions = {}): Redis {
    const { host, port } = this.primary;
    const replicas = this.replicas.map(({ server }) => ({ host: server.host, port: server.port }));
    const redis = new Redis({ host, port, replicas, retryStrategy: () => 20, ...options });
    redis.on("error", () => {});
    this.clients.push(redis);
    return redis;
  }

  /** Waits until so many replicas of the client take reads. */
  untilReading(redis: Redis, count: number, timeoutMs = 20_000): Promise<void> {
    const reading = (): number => readersOf(redis).length;
    return waitUntil(async () => redis.status === "ready" && reading() === count, {
      timeoutMs,
      what: `${count} replicas that take reads`,
    });
  }

  /** How often each server has executed a command while the work ran: the primary first. */
  async calls(name: string, work: () => Promise<unknown>): Promise<number[]> {
    const count = (): Promise<number[]> => Promise.all(this.servers.map((server) => callsAt(server, name)));
    const before = await count();
    await work();
    const after = await count();
    return after.map((calls, index) => calls - (before[index] ?? 0));
  }

  /** Waits until the replica is connected to its primary and has all of its data. */
  async untilSynced({ server }: FixtureReplica): Promise<void> {
    const offset = async (one: ServerProcess, field: string): Promise<string | undefined> =>
      new RegExp(`${field}:(\\S+)`).exec(String(await one.command("INFO", "replication")))?.[1];
    await waitUntil(async () => (await offset(server, "master_link_status")) === "up", {
      timeoutMs: 20_000,
      what: "a replica that follows its primary",
    });
    const wanted = Number(await offset(this.primary, "master_repl_offset"));
    await waitUntil(async () => Number(await offset(server, "slave_repl_offset")) >= wanted, {
      timeoutMs: 20_000,
      what: "a replica with all data",
    });
  }

  /** The primary first. */
  private get servers(): ServerProcess[] {
    return [this.primary, ...this.replicas.map(({ server }) => server)];
  }

  private async start(): Promise<void> {
    this.primary = await startServer(this.kind, { config: { ...CONFIG, ...this.ofPrimary } });
    this.replicas = await Promise.all(Array.from({ length: this.size }, () => this.startReplica()));
    await Promise.all(this.replicas.map((replica) => this.untilSynced(replica)));
    this.settingsAtStart = await this.settings();
  }

  private async stop(): Promise<void> {
    await Promise.all(this.replicas.map(({ feed }) => feed.stop()));
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  /** What CONFIG SET and REPLICAOF change. */
  private async settings(): Promise<string> {
    return JSON.stringify(
      await Promise.all(this.servers.map((server) => server.command("CONFIG", "GET", "*"))),
    );
  }

  private async empty(): Promise<void> {
    await Promise.all(this.replicas.map(({ feed }) => feed.heal()));
    await this.primary.command("FLUSHALL");
    await Promise.all(this.replicas.map((replica) => this.untilSynced(replica)));
  }

  private async startReplica(): Promise<FixtureReplica> {
    const feed = await FeedLine.start(this.primary);
    const server = await startServer(this.kind, { config: CONFIG });
    await server.command("REPLICAOF", feed.host, feed.port);
    return { server, feed };
  }
}

/** The replicas that take the reads of a client, by `host:port`. */
export function readersOf(redis: Redis): string[] {
  const { replicas } = redis.stats();
  return Object.entries(replicas ?? {}).flatMap(([server, { takesReads }]) => (takesReads ? [server] : []));
}

/** Delays what a replica hears from its primary. */
export function lag({ feed }: FixtureReplica, delayMs: number): Promise<void> {
  return feed.delay(delayMs);
}

async function callsAt(server: ServerProcess, name: string): Promise<number> {
  if (!server.isRunning) return 0;
  const stats = String(await server.command("INFO", "commandstats"));
  return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}
