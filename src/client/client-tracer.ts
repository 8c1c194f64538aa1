/**
 * Reports what one client does to the tracing channels and the debug output: commands as they are
 * written, transactions, attempts to connect. Builds nothing while nobody listens. Addresses are
 * the configured ones; behind Sentinel, where none is configured, that of the server it found.
 */

import { AsyncResource } from "node:async_hooks";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Command, Origin } from "../command/command";
import type { SettleHook } from "../command/command-extra";
import { ConnectionClosedError } from "../errors";
import {
  isBatchTraced,
  isCommandTraced,
  isConnectTraced,
  type ServerContext,
  traceBatch,
  traceCommand,
  traceConnect,
} from "../observability/channels";
import { describeCommand, redactUrl } from "../observability/redact";
import type { BatchObserver } from "../pipeline/pipeline-run";
import { debugLog } from "../util/debug";
import { nextTick } from "../util/scheduling";
import type { RedisOptions } from "./options/redis-options";

const debug = debugLog("redis");
const connectionDebug = debugLog("connection");
const pipelineDebug = debugLog("pipeline");

/** Key of the method that clients with traced transactions have; see `PipelinePort.observe`. */
export const NOTE_BATCH: unique symbol = Symbol("noteBatch");
export const OBSERVE: unique symbol = Symbol("observe");

/** What the tracer asks its client. */
export interface TracedClient {
  readonly options: Pick<RedisOptions, "host" | "port" | "path" | "db" | "sentinels">;
  readonly stream: Duplex | null;
}

/**
 * Notes where commands are issued, while tracers listen: commands are written later, together
 * with those of others, and must not be taken for the work of whoever happened to be first.
 */
export function keepScope(issued: Command | readonly Command[]): void {
  if (!isCommandTraced()) return;
  const scope = new AsyncResource("sluice.command", { requireManualDestroy: true });
  if (!Array.isArray(issued)) (issued as Command).ensureExtra().scope = scope;
  else for (const command of issued as readonly Command[]) command.ensureExtra().scope = scope;
}

/**
 * Hands a command over on behalf of a replaced `sendCommand`. Tracers replace `command.reject`
 * only after that has returned; a command that is refused at once is refused after that, too.
 */
export function refusingLate(command: Command, handOver: () => void): void {
  const extra = command.ensureExtra();
  const { reject } = extra;
  const refusals: Error[] = [];
  extra.reject = (error) => refusals.push(error);
  try {
    handOver();
  } finally {
    extra.reject = reject;
  }
  const [refusal] = refusals;
  if (refusal !== undefined) nextTick(() => command.fail(refusal));
}

export class ClientTracer {
  private attempts = 0;
  private attempt: SettleHook | null = null;
  private reason: Error | undefined;
  /** Looked up once for each connection: asking the environment takes longer than a flush may. */
  private isLogging = false;
  private isLoggingBatches = false;

  constructor(private readonly client: TracedClient) {}

  /** Asked once for each flush. */
  isTracing(): boolean {
    return isCommandTraced() || this.isLogging;
  }

  /** A command is being written; one that is sent again was reported to the channels before. */
  onWrite(command: Command): void {
    if (this.isLogging) {
      const { name, args } = describeCommand(command.name, command.args);
      debug("write %s %o", name, args);
    }
    if (command.isSettled || !isCommandTraced()) return;
    const extra = command.ensureExtra();
    if (extra.isTraced) return;
    extra.isTraced = true;
    const { serverAddress, serverPort } = this.server();
    // The commands of the handshake belong to the database that is about to be selected.
    const isOwn = command.origin === Origin.Connection;
    const database = isOwn ? (this.client.options.db ?? 0) : command.db;
    const trace = traceCommand(command.name, command.args, { database, serverAddress, serverPort });
    if (extra.scope === null) trace.around(nothing);
    else extra.scope.runInAsyncScope(() => trace.around(nothing));
    extra.scope = null;
    extra.addHook(trace);
  }

  /** An explicit batch of so many commands is about to be sent. */
  onBatch(size: number): void {
    if (this.isLoggingBatches) pipelineDebug("send %d commands to %s", size, this.place());
  }

  /** A transaction of so many commands, MULTI and EXEC not counted, is about to be sent. */
  onTransaction(size: number, database: number): BatchObserver | null {
    if (!isBatchTraced()) return null;
    const { serverAddress, serverPort } = this.server();
    return traceBatch(size, { database, serverAddress, serverPort });
  }

  /** An error of the connection; explains the end of the present attempt. */
  onError(error: Error): void {
    this.reason ??= error;
    debug("error of %s: %s", this.place(), error);
  }

  /** Follows the status words: each `connecting` begins an attempt, the next decisive word ends it. */
  onStatus(status: string): void {
    const attempt = this.attempt;
    const reason = this.reason;
    debug("%s is now %s", this.place(), status);
    if (status === "connecting") {
      this.begin();
      return;
    }
    if (status === "connect") connectionDebug("connected to %s", this.place());
    else if (status === "close")
      connectionDebug("connection to %s is closed: %s", this.place(), reason ?? "no error");
    if (attempt === null || status === "connect" || status === "monitoring") return;
    this.attempt = null;
    if (status === "ready") attempt.onFulfilled(undefined);
    else if (status === "end" && reason !== undefined) attempt.onFailed(reason);
    else attempt.onFailed(new ConnectionClosedError(reason === undefined ? undefined : { cause: reason }));
  }

  private begin(): void {
    const epoch = this.attempts++;
    this.reason = undefined;
    this.isLogging = debug.enabled;
    this.isLoggingBatches = pipelineDebug.enabled;
    connectionDebug("connecting to %s, attempt %d", this.place(), this.attempts);
    this.attempt = isConnectTraced() ? traceConnect(epoch, this.server()).around(nothing) : null;
  }

  /** The server for people to read: `host:port`, or the path of the socket. */
  place(): string {
    const { serverAddress, serverPort } = this.server();
    return serverPort === undefined ? redactUrl(serverAddress) : `${serverAddress}:${serverPort}`;
  }

  private server(): ServerContext {
    const { path, host, port, sentinels } = this.client.options;
    const { stream } = this.client;
    if (sentinels && stream instanceof Socket && stream.remoteAddress !== undefined) {
      return { serverAddress: stream.remoteAddress, serverPort: stream.remotePort };
    }
    if (path) return { serverAddress: path, serverPort: undefined };
    return { serverAddress: host || "localhost", serverPort: port ?? 6379 };
  }
}

function nothing(): void {}
