/**
 * Reports the work of one client to the tracing channels and the debug output: written commands, transactions,
 * connection attempts. Allocates nothing without a subscriber. It reports the configured address, or with
 * Sentinel the address of the connected server.
 */

import { AsyncResource } from "node:async_hooks";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Command, Origin } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { causeOf } from "../command/ending-errors";
import type { PromiseCompletion } from "../command/promise-completion";
import { type CommandWriter, writeWatch } from "../command/write-watch";
import { ConnectionCounts } from "../connection/connection-counts";
import { ConnectionClosedError } from "../errors";
import { LINK_DEFAULTS } from "../link/link-defaults";
import {
  batchChannel,
  commandChannel,
  connectChannel,
  placeOf,
  type ServerContext,
  Trace,
} from "../observability/channels";
import { type BatchFacts, hooks, type ObservedClient } from "../observability/hooks";
import { redactArguments } from "../observability/redact";
import { type ConnectionContext, connectionChannel, pipelineChannel } from "../observability/work-channels";
import type { BatchObserver, PipelineObserver } from "../pipeline/pipeline-run";
import { maskName } from "../util/credentials";
import { debugLog } from "../util/debug";
import { LatePart } from "../util/late-part";
import { clockMs } from "../util/scheduling";
import { quietly } from "../util/user-code";
import type { RedisOptions } from "./options/redis-options";
import type { TraceSource } from "./pipeline-trace";

export { commandChannel } from "../observability/channels";
export { hooks } from "../observability/hooks";
export type { TraceSource };

const debug = debugLog("redis");
const commandDebug = debugLog("command");
const connectionDebug = debugLog("connection");
const pipelineDebug = debugLog("pipeline");

/** The async scope of commands that a connection sends itself, independently of the current call. */
const OF_NO_CALL = new AsyncResource("sluice.connection", { requireManualDestroy: true });

/** Loopback addresses count as one host, because a name such as localhost may resolve to any of them. */
const LOOPBACK = /^(?:::1|(?:::ffff:)?127\.0\.0\.1)$/;

export interface TracedClient {
  readonly options: Pick<RedisOptions, "host" | "port" | "path" | "db" | "sentinels">;
  readonly stream: Duplex | null;
  stats(): object;
}

export const pipelineTracing = new LatePart(
  "tracing",
  () => require("./pipeline-trace") as typeof import("./pipeline-trace"),
);

/** Null without a subscriber. In a bundle without the tracing code, a subscriber must not make pipelines fail. */
export function tracePipeline(run: BatchFacts, source: TraceSource): PipelineObserver | null {
  if (hooks.batch === null && !pipelineChannel.isHeard && !source.isLogging) return null;
  return pipelineTracing.find()?.tracePipeline(run, source) ?? null;
}

/** Reports a single call to `sluice/otel`, if it is active. Its errors must not reach the caller. */
export function tellCall(command: Command, completion: PromiseCompletion, source: TraceSource): void {
  const end = quietly(() => hooks.call?.(command.spec.lowerName, command.args, source));
  if (end) completion.callCounts = end;
}

export function tellGathered(ms: number, source: TraceSource): void {
  quietly(() => hooks.gathered?.(ms, source));
}

/** Maintains the list of clients with readable metrics. */
export function noteClient(client: ObservedClient, status: string): void {
  if (status === "connecting") hooks.clients.add(client);
  if (status === "end" && hooks.clients.delete(client)) quietly(() => hooks.left?.(client));
}

/** Patching instrumentations set this mark on methods. */
export function isPatched(method: unknown): boolean {
  return (method as { __wrapped?: unknown }).__wrapped === true;
}

/** The number of writes of all clients so far: calls without a write between them share one. */
export function flushesSoFar(): number {
  return ConnectionCounts.flushes;
}

/** Records the async scope of commands, which are written later and must not be attributed to another caller. */
export function keepScope(issued: readonly Command[]): void {
  const scope = new AsyncResource("sluice.command", { requireManualDestroy: true });
  for (const command of issued) command.ensureExtra().scope = scope;
}

export class ClientTracer implements CommandWriter {
  /** The server of the current socket. */
  serverName = "";
  private attempts = 0;
  private attempt: SettleHook | null = null;
  /** The scope of the current attempt, in which the commands of the handshake are issued. */
  private connecting: AsyncResource | null = null;
  private reason: Error | undefined;
  /** Read once for each connection, because reading the environment is too slow for each flush. */
  isLogging = false;
  isLoggingBatches = false;
  private work: ConnectionContext | null = null;
  private lostAtMs: number | null = null;

  constructor(private readonly client: TracedClient) {}

  onWrite(command: Command): void {
    writeWatch.watcher?.onWritten(command, this);
    if (this.isLogging) {
      const { name, args } = command;
      commandDebug("write %s %o", maskName(name, args), redactArguments(name, args));
    }
    if (!command.isSettled && commandChannel.isHeard) this.report(command);
  }

  report(command: Command): void {
    const extra = command.ensureExtra();
    if (extra.isTraced) return;
    extra.isTraced = true;
    // The commands of the handshake belong to the database that will be selected.
    const isOwn = command.origin === Origin.Connection;
    const database = isOwn ? (this.client.options.db ?? 0) : command.db;
    const { name, args } = command;
    const trace = new Trace(commandChannel, {
      command: maskName(name, args),
      args: redactArguments(name, args),
      database,
      ...this.server(),
    });
    const scope = extra.scope ?? (isOwn ? (this.connecting ?? OF_NO_CALL) : null);
    if (scope === null) trace.around();
    else scope.runInAsyncScope(() => trace.around());
    extra.scope = null;
    extra.addHook(trace);
  }

  /** A transaction with this many commands, without MULTI and EXEC, is about to be sent. */
  onTransaction(batchSize: number, database: number): BatchObserver | null {
    if (!batchChannel.isHeard) return null;
    return new Trace(batchChannel, { batchMode: "MULTI", batchSize, database, ...this.server() });
  }

  /** An error of the connection; it explains the end of the current attempt. */
  onError(error: Error): void {
    this.reason ??= error;
    debug("error of %s: %s", this, error);
  }

  /** Follows the state: each `connecting` begins an attempt, and the next final state ends it. */
  onStatus(status: string): void {
    debug("%s is now %s", this, status);
    noteClient(this.client, status);
    if (status === "connecting") this.begin();
    else if (status === "connect") {
      this.serverName = this.nameOfServer();
      connectionDebug("connected to %s", this);
    } else if (status !== "monitoring") this.settle(status);
  }

  private begin(): void {
    const epoch = this.attempts++;
    this.reason = undefined;
    this.isLogging = commandDebug.enabled;
    this.isLoggingBatches = pipelineDebug.enabled;
    connectionDebug("connecting to %s, attempt %d", this, this.attempts);
    if (connectionChannel.isHeard) {
      const downMs = this.lostAtMs === null ? null : clockMs() - this.lostAtMs;
      this.work = connectionChannel.begin({ operation: "attempt", epoch, downMs, ...this.server() });
    }
    if (!connectChannel.isHeard) return;
    this.attempt = new Trace(connectChannel, { connectionEpoch: epoch, ...this.server() }).around(() => {
      this.connecting = new AsyncResource("sluice.connect", { requireManualDestroy: true });
    });
  }

  /** The current attempt, or the lifetime of the connection, ends with this state. */
  private settle(status: string): void {
    const { attempt, work, reason } = this;
    const isReady = status === "ready";
    if (status === "close") {
      writeWatch.watcher?.onLost(this);
      connectionDebug("connection to %s is closed: %s", this, reason ?? "no error");
    }
    this.attempt = null;
    this.connecting = null;
    this.work = null;
    if (work !== null) {
      const isFailure = work.operation === "attempt" || reason !== undefined;
      connectionChannel.settle(
        work,
        isReady || !isFailure ? undefined : (reason ?? new ConnectionClosedError()),
      );
    }
    if (work?.operation === "life") this.lostAtMs = clockMs();
    if (isReady && connectionChannel.isHeard)
      this.work = connectionChannel.begin({ operation: "life", epoch: this.attempts - 1, ...this.server() });
    if (isReady) attempt?.onSettled(null);
    else attempt?.onSettled((status === "end" && reason) || new ConnectionClosedError(causeOf(reason)));
  }

  /** The server, for debug output: it is formatted only if the output is enabled. */
  toString(): string {
    return placeOf(this.server());
  }

  /** The remote address of the socket, because the configured host may be one of several names. */
  private nameOfServer(): string {
    const { stream } = this.client;
    if (!(stream instanceof Socket) || stream.remoteAddress === undefined) return String(this);
    const { remoteAddress, remotePort } = stream;
    return `${LOOPBACK.test(remoteAddress) ? "localhost" : remoteAddress}:${remotePort}`;
  }

  server(): ServerContext {
    const { path, host, port, sentinels } = this.client.options;
    const { stream } = this.client;
    if (sentinels && stream instanceof Socket && stream.remoteAddress !== undefined) {
      return { serverAddress: stream.remoteAddress, serverPort: stream.remotePort };
    }
    if (path) return { serverAddress: path, serverPort: undefined };
    return { serverAddress: host || "localhost", serverPort: port ?? LINK_DEFAULTS.port };
  }
}
