/**
 * Probes the databases of one option `failover`, each over a separate connection, and notifies the connectors of the active
 * one. A client, its duplicates and its leased connections share a monitor. It runs while one of them is open.
 */

import { clockMs, startTimer, stopTimer } from "../util/scheduling";
import {
  type AddressReader,
  type DatabaseAddress,
  type FailoverSettings,
  type ProbeClient,
  readDatabases,
} from "./databases";
import { DatabaseLostError } from "./failover-error";
import { choose, type DatabaseState, Health } from "./health";

const INTERVAL_MS = 200;
const TIMEOUT_MS = 500;
const FAILBACK_MS = 30_000;
/** A round of probes that is more than this number of intervals late shows that this process was paused. */
const PAUSE_INTERVALS = 2;
/** In multiples of the time limit of a probe: a younger connection is not replaced when its probes fail. */
const LIVES_PER_TIMEOUT = 4;

/** A client that probes one database. */
export interface DatabaseClient extends ProbeClient {
  disconnect(): void;
}

/** The layer above, which creates clients. */
export interface MonitorDeps extends AddressReader {
  makeClient(settings: object): DatabaseClient;
}

/** One database in `stats()`. */
export interface DatabaseStats {
  readonly isActive: boolean;
  readonly weight: number;
  /**
   * `good`: the latest probe succeeded. `failing`: it failed. `lost`: all probes of the last second failed. `unknown`: no
   * probe has ended.
   */
  readonly state: DatabaseState;
}

/** The databases of the option `failover` in `stats()`. */
export interface FailoverStats {
  /** `host:port` of the active database. */
  readonly active: string;
  /** The number of changes to another database, including returns. */
  readonly switches: number;
  /** By `host:port`. */
  readonly databases: Readonly<Record<string, DatabaseStats>>;
}

/** The link of a client. */
export interface Follower {
  /** Another database is active. */
  follow(error: DatabaseLostError | null): void;
  /** Called in each round: a move that was given up begins again. */
  look(): void;
}

/** A database with its probes. */
export class Database {
  readonly health: Health;
  client: DatabaseClient | null = null;
  openedAtMs = 0;

  constructor(
    readonly address: DatabaseAddress,
    weight: number,
  ) {
    this.health = new Health(weight);
  }

  get server(): string {
    return `${this.address.host}:${this.address.port}`;
  }
}

export class DatabaseMonitor {
  readonly databases: readonly Database[];
  /** The number that all URLs select. */
  readonly db: number | undefined;
  active: Database;
  private switches = 0;
  private readonly followers = new Set<Follower>();
  private readonly intervalMs: number;
  private readonly timeoutMs: number;
  private readonly failbackMs: number;
  private readonly check: (client: ProbeClient) => Promise<unknown>;
  private timer: NodeJS.Timeout | undefined;
  private dueMs = 0;

  constructor(
    settings: FailoverSettings,
    private readonly deps: MonitorDeps,
  ) {
    const found = readDatabases(settings, deps);
    const { probe = {}, failback = FAILBACK_MS } = settings;
    this.databases = found.map(({ address, weight }) => new Database(address, weight));
    this.db = found[0]?.db;
    this.active = this.preferred();
    this.intervalMs = probe.intervalMs ?? INTERVAL_MS;
    this.timeoutMs = probe.timeoutMs ?? TIMEOUT_MS;
    this.failbackMs = failback === false ? Number.POSITIVE_INFINITY : failback;
    this.check = probe.check ?? ((client) => client.call("PING"));
    // An invalid option of a database is an error of the constructor.
    for (const database of this.databases) this.makeClient(database, { lazyConnect: true }).disconnect();
  }

  join(follower: Follower): void {
    this.followers.add(follower);
    if (this.timer === undefined) this.startRound(clockMs());
  }

  /** The last follower to leave stops the probes. */
  leave(follower: Follower): void {
    if (!this.followers.delete(follower) || this.followers.size > 0) return;
    stopTimer(this.timer);
    this.timer = undefined;
    for (const database of this.databases) {
      this.close(database);
      database.health.forget();
    }
  }

  stats(): FailoverStats {
    const nowMs = clockMs();
    const rows = this.databases.map((database) => {
      const { server, health } = database;
      const { weight } = health;
      const isActive = database === this.active;
      return [server, Object.freeze({ isActive, weight, state: health.stateAt(nowMs) })] as const;
    });
    const { active, switches } = this;
    return Object.freeze({
      active: active.server,
      switches,
      databases: Object.freeze(Object.fromEntries(rows)),
    });
  }

  private preferred(): Database {
    return this.databases.reduce((best, one) => (one.health.weight > best.health.weight ? one : best));
  }

  private startRound(nowMs: number): void {
    const isPaused = this.timer !== undefined && nowMs - this.dueMs > this.intervalMs * PAUSE_INTERVALS;
    this.dueMs = nowMs + this.intervalMs;
    this.timer = startTimer(() => this.startRound(clockMs()), this.intervalMs);
    this.timer.unref();
    for (const database of this.databases) {
      if (isPaused) database.health.forget();
      void this.probe(database, nowMs);
    }
    const { active } = this;
    this.decide();
    if (active === this.active) for (const follower of [...this.followers]) follower.look();
  }

  private async probe(database: Database, sentAtMs: number): Promise<void> {
    if (database.client === null) this.open(database, sentAtMs);
    const { client, health } = database;
    const isGood = await this.isAnswered(client as DatabaseClient);
    if (database.client !== client) return;
    health.note(isGood, sentAtMs);
    const ageMs = clockMs() - database.openedAtMs;
    if (health.needsConnection && ageMs > this.timeoutMs * LIVES_PER_TIMEOUT) this.close(database);
    this.decide();
  }

  /** The check of the user may throw, and may take any time. */
  private isAnswered(client: DatabaseClient): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = startTimer(() => resolve(false), this.timeoutMs);
      const settle = (isGood: boolean): void => {
        stopTimer(timer);
        resolve(isGood);
      };
      const run = async (): Promise<unknown> => this.check(client);
      run().then(
        () => settle(true),
        () => settle(false),
      );
    });
  }

  private open(database: Database, nowMs: number): void {
    database.openedAtMs = nowMs;
    database.client = this.makeClient(database);
  }

  private makeClient({ address }: Database, others: object = {}): DatabaseClient {
    const { intervalMs, timeoutMs } = this;
    return this.deps.makeClient({
      ...address,
      connectTimeout: timeoutMs,
      commandTimeout: timeoutMs,
      // The replies to probes of a closed client are not needed.
      disconnectTimeout: 1,
      // The first probe waits for the connection: it must not fail before an attempt has.
      maxRetriesPerRequest: 0,
      retryStrategy: () => intervalMs,
      watchdog: { idleMs: timeoutMs, probeTimeoutMs: timeoutMs },
      ...others,
    });
  }

  private close(database: Database): void {
    database.client?.disconnect();
    database.client = null;
  }

  private decide(): void {
    const nowMs = clockMs();
    const { active, databases, failbackMs } = this;
    const chosen = choose(databases, active, { failbackMs, nowMs });
    if (chosen === active) return;
    this.active = chosen;
    this.switches++;
    const error = active.health.isLost(nowMs) ? new DatabaseLostError(active.server, chosen.server) : null;
    for (const follower of [...this.followers]) follower.follow(error);
  }
}

/** By the settings in the options of a client, which its duplicates and leased connections have too. */
const monitors = new WeakMap<FailoverSettings, DatabaseMonitor>();

/** The monitor of a client. Throws an `OptionError`. */
export function monitorOf(
  options: { failover?: FailoverSettings | undefined },
  deps: MonitorDeps,
): DatabaseMonitor {
  const given = options.failover as FailoverSettings;
  const shared = monitors.get(given);
  if (shared !== undefined) return shared;
  // The program may pass its object to other clients with another login.
  const own = { ...given };
  const monitor = new DatabaseMonitor(own, deps);
  monitors.set(own, monitor);
  options.failover = own;
  return monitor;
}
