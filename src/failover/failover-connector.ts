/**
 * Connects a link to the active database. When another database becomes active, the connection to a lost one
 * is closed, and its commands follow `retryPolicy`. A working connection is replaced after its last reply.
 */

import { channel } from "node:diagnostics_channel";
import type { Duplex } from "node:stream";
import { OptionError } from "../errors";
import { AbstractConnector, type ErrorEmitter, type ReadHooks } from "../link/connector";
import { openSocket, type TcpConnectorOptions } from "../link/tcp-connector";
import { type FailoverSettings, type OtherChoices, refuseOtherChoices } from "./databases";
import type { DatabaseLostError } from "./failover-error";
import {
  type Database,
  type DatabaseMonitor,
  type FailoverStats,
  type Follower,
  type MonitorDeps,
  monitorOf,
} from "./monitor";

/** The client uses another database (`FailoverReport`). */
const failoverChannel = channel("sluice:failover");

/** The link of the connector. */
export interface FollowingLink {
  /** Of the current connection. */
  readonly socket: Duplex | null;
  readonly isReady: boolean;
  /** Closes the connection, and connects without a delay. */
  restart(error: Error): void;
  /** Moves to a new connection without losing a command. Does nothing during such a move. */
  move(): void;
  /** Cancels a move. */
  stay(): void;
}

export interface FailoverReport {
  /** `host:port` of the database that was active. */
  readonly from: string;
  readonly to: string;
  /** Null: the client returns to a database with a greater weight. */
  readonly error: DatabaseLostError | null;
}

interface Options extends TcpConnectorOptions, Omit<OtherChoices, "path"> {
  failover?: FailoverSettings | undefined;
  db?: number | undefined;
}

export class FailoverConnector extends AbstractConnector implements Follower {
  private readonly monitor: DatabaseMonitor;
  private link: FollowingLink | null = null;
  /** The database of the latest connection attempt. */
  private used: Database;
  private readonly databaseOf = new WeakMap<Duplex, Database>();

  constructor(
    private readonly options: Options,
    deps: MonitorDeps,
    private readonly onReport: (report: FailoverReport) => void,
  ) {
    super(options.disconnectTimeout);
    refuseOtherChoices(options);
    this.monitor = monitorOf(options, deps);
    this.used = this.take();
    const { db } = this.monitor;
    if (db === undefined) return;
    if (options.db && options.db !== db) {
      throw new OptionError(
        `The option db ${options.db} contradicts the URLs of failover.databases, which select ${db}. Remove one of them`,
      );
    }
    options.db = db;
  }

  /** Called once, before the first `connect`. */
  bind(link: FollowingLink): void {
    this.link = link;
  }

  override async connect(_emitError: ErrorEmitter, hooks?: ReadHooks): Promise<Duplex> {
    this.used = this.take();
    this.monitor.join(this);
    this.stream = openSocket(this.options, hooks);
    this.databaseOf.set(this.stream, this.used);
    return this.stream;
  }

  stats(): FailoverStats {
    return this.monitor.stats();
  }

  /** The link has ended. */
  release(): void {
    this.monitor.leave(this);
  }

  /** The connector of a leased connection has no link that would call `release()`. */
  override disconnect(): void {
    super.disconnect();
    if (this.link === null) this.monitor.leave(this);
  }

  follow(error: DatabaseLostError | null): void {
    const { link, stream, monitor } = this;
    if (link === null) {
      stream?.destroy(error ?? undefined);
      return;
    }
    const { active } = monitor;
    const current = this.current ?? this.used;
    const report: FailoverReport = { from: error?.server ?? current.server, to: active.server, error };
    this.onReport(report);
    if (failoverChannel.hasSubscribers) failoverChannel.publish(report);
    if (current === active) link.stay();
    else if (error !== null) link.restart(error);
    else link.move();
  }

  look(): void {
    const { link, current } = this;
    if (link?.isReady === true && current !== null && current !== this.monitor.active) link.move();
  }

  /** The database of the current connection, which may differ from `used`. */
  private get current(): Database | null {
    const socket = this.link?.socket ?? null;
    return (socket && this.databaseOf.get(socket)) ?? null;
  }

  /** Login and address are read from the options for each connection. */
  private take(): Database {
    const { active } = this.monitor;
    Object.assign(this.options, active.address);
    return active;
  }
}
