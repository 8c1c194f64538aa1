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
import { mergedIn } from "../command/merged-commands";
import type { PromiseCompletion } from "../command/promise-completion";
import { type CommandWriter, writeWatch } from "../command/write-watch";
import { ConnectionCounts } from "../connection/connection-counts";
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
import { type BatchFacts, hooks, type ObservedClient } from "../observability/hooks";
import { redactArguments, redactUrl } from "../observability/redact";
import { type ConnectionContext, connectionChannel, pipelineChannel } from "../observability/work-channels";
import type { BatchObserver, PipelineObserver } from "../pipeline/pipeline-run";
import { maskName } from "../util/credentials";
import { debugLog } from "../util/debug";
import { clockMs, nextTick } from "../util/scheduling";
import { isThenable, toError } from "../util/user-code";
import type { RedisOptions } from "./options/redis-options";
import type { PipelineTarget } from "./pipeline-trace";

export { isCommandTraced } from "../observability/channels";
export { hooks } from "../observability/hooks";

const debug = debugLog("redis");
const commandDebug = debugLog("command");
const connectionDebug = debugLog("connection");
const pipelineDebug = debugLog("pipeline");

/** Key of the method that clients with traced transactions have; see `BatchSender.observe`. */
export const OBSERVE: unique symbol = Symbol("observe");

/** Where commands belong that a connection sends on its own account: whichever call is at work then did not cause them. */
const OF_NO_CALL = new AsyncResource("sluice.connection", { requireManualDestroy: true });

/** One host: a name such as localhost may lead to either. */
const LOOPBACK = /^(?:::1|(?:::ffff:)?127\.0\.0\.1)$/;

/** The questions of the tracer to its client. */
export interface TracedClient {
  readonly options: Pick<RedisOptions, "host" | "port" | "path" | "db" | "sentinels">;
  readonly stream: Duplex | null;
  stats(): object;
}

/** A client as those see it who trace its calls and batches. */
export type TraceSource = PipelineTarget;

let loadedTrace: typeof import("./pipeline-trace") | null = null;

/** Follows a pipeline; null while nobody listens. The code for that is loaded with the first listener. */
export function tracePipeline(run: BatchFacts, target: TraceSource): PipelineObserver | null {
  if (hooks.batch === null && !pipelineChannel.isHeard && !target.isLogging) return null;
  loadedTrace ??= require("./pipeline-trace") as typeof import("./pipeline-trace");
  return loadedTrace.tracePipeline(run, target);
}

/** Tells `sluice/otel` of a single call, if it is there. What it throws is not the caller's affair. */
export function tellCall(command: Command, completion: PromiseCompletion, source: TraceSource): void {
  try {
    const end = hooks.call?.(command.spec.lowerName, command.args, source);
    if (end) completion.tally = end;
  } catch {
    // Not reported either: it would be once for each call.
  }
}

/** Tells it of an automatic batch, likewise. */
export function tellGathered(ms: number, source: TraceSource): void {
  try {
    hooks.gathered?.(ms, source);
  } catch {
    // As above.
  }
}

/** Keeps the list of the clients whose figures may be read, by the status word that one has reached. */
export function noteClient(client: ObservedClient, status: string): void {
  if (status === "connecting") hooks.clients.add(client);
  if (status !== "end" || !hooks.clients.delete(client)) return;
  try {
    hooks.left?.(client);
  } catch {
    // Figures that are not counted disturb nobody.
  }
}

/** An instrumentation that patches methods marks them so. */
export function isPatched(method: unknown): boolean {
  return (method as { __wrapped?: unknown }).__wrapped === true;
}

/** Writes of all clients so far: calls without a write between them leave together. */
export function flushesSoFar(): number {
  return ConnectionCounts.flushes;
}

/**
 * Notes where commands are issued, to be called while tracers listen: commands are written later, together
 * with those of others, and must not be taken for the work of whoever happened to be first.
 */
export function keepScope(issued: readonly Command[]): void {
  const scope = new AsyncResource("sluice.command", { requireManualDestroy: true });
  for (const command of issued) command.ensureExtra().scope = scope;
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

export class ClientTracer implements CommandWriter {
  /** The server of the present socket. */
  serverName = "";
  private attempts = 0;
  private attempt: SettleHook | null = null;
  /** Of the present attempt: the commands of the handshake are issued in it. */
  private connecting: AsyncResource | null = null;
  private reason: Error | undefined;
  /** Looked up once for each connection: asking the environment takes longer than a flush may. */
  isLogging = false;
  isLoggingBatches = false;
  private work: ConnectionContext | null = null;
  private lostAtMs: number | null = null;

  constructor(private readonly client: TracedClient) {}

  /** A command is being written; one that is sent again was reported to the channels before. */
  onWrite(command: Command): void {
    const merged = mergedIn(command);
    if (merged !== null) {
      for (const member of merged.members()) this.onWrite(member);
      return;
    }
    writeWatch.watcher?.onWritten(command, this);
    if (this.isLogging) {
      const { name, args } = command;
      commandDebug("write %s %o", maskName(name, args), redactArguments(name, args));
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
    const scope = extra.scope ?? (isOwn ? (this.connecting ?? OF_NO_CALL) : null);
    if (scope === null) trace.around(nothing);
    else scope.runInAsyncScope(() => trace.around(nothing));
    extra.scope = null;
    extra.addHook(trace);
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
    // The words are put together for those who read them.
    if (debug.enabled) debug("%s is now %s", this.place(), status);
    this.followWork(status, reason);
    if (status === "connect") this.serverName = this.nameOfServer();
    else if (status === "close") writeWatch.watcher?.onLost(this);
    if (status === "connecting") {
      this.begin();
      return;
    }
    if (connectionDebug.enabled) this.log(status, reason);
    if (attempt === null || status === "connect" || status === "monitoring") return;
    this.attempt = null;
    this.connecting = null;
    if (status === "ready") attempt.onFulfilled(undefined);
    else if (status === "end" && reason !== undefined) attempt.onFailed(reason);
    else attempt.onFailed(new ConnectionClosedError(reason === undefined ? undefined : { cause: reason }));
  }

  private log(status: string, reason: Error | undefined): void {
    if (status === "connect") connectionDebug("connected to %s", this.place());
    else if (status === "close")
      connectionDebug("connection to %s is closed: %s", this.place(), reason ?? "no error");
  }

  /** The same as operations of `sluice:connection`. */
  private followWork(status: string, reason: Error | undefined): void {
    noteClient(this.client, status);
    if (status === "connecting") {
      if (connectionChannel.isHeard) this.work = this.beginWork("attempt");
      return;
    }
    if (status !== "ready" && status !== "close" && status !== "end") return;
    const { work } = this;
    this.work = null;
    if (work !== null) {
      const error = status === "ready" ? undefined : reason;
      const isFailure = status !== "ready" && work.operation === "attempt";
      connectionChannel.settle(work, error ?? (isFailure ? new ConnectionClosedError() : undefined));
    }
    if (status === "ready" && connectionChannel.isHeard) this.work = this.beginWork("life");
    else if (work?.operation === "life") this.lostAtMs = clockMs();
  }

  private beginWork(operation: "attempt" | "life"): ConnectionContext {
    const { serverAddress, serverPort } = this.server();
    const epoch = operation === "attempt" ? this.attempts : this.attempts - 1;
    const context: ConnectionContext = { operation, epoch, serverAddress, serverPort };
    if (operation === "attempt") context.downMs = this.lostAtMs === null ? null : clockMs() - this.lostAtMs;
    return connectionChannel.begin(context);
  }

  private begin(): void {
    const epoch = this.attempts++;
    this.reason = undefined;
    this.isLogging = commandDebug.enabled;
    this.isLoggingBatches = pipelineDebug.enabled;
    if (connectionDebug.enabled) connectionDebug("connecting to %s, attempt %d", this.place(), this.attempts);
    this.attempt = null;
    this.connecting = null;
    if (!isConnectTraced()) return;
    this.attempt = traceConnect(epoch, this.server()).around(() => {
      this.connecting = new AsyncResource("sluice.connect", { requireManualDestroy: true });
    });
  }

  /** The server for people to read: `host:port`, or the path of the socket. */
  place(): string {
    const { serverAddress, serverPort } = this.server();
    return serverPort === undefined ? redactUrl(serverAddress) : `${serverAddress}:${serverPort}`;
  }

  /** The address of the socket's other end: what it was dialled by may have several names. */
  private nameOfServer(): string {
    const { stream } = this.client;
    if (!(stream instanceof Socket) || stream.remoteAddress === undefined) return this.place();
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
    return { serverAddress: host || "localhost", serverPort: port ?? 6379 };
  }
}

function nothing(): void {}

// Commands on their way through a `sendCommand` that has been replaced (tracers and wrappers do
// that). It is the code of users: it may throw, change arguments, or return a promise of its own.

/** The promise for the caller of a single command: the one that the replacement returns, if it is one. */
export function outcomeOf(command: Command, returned: unknown): Promise<unknown> {
  return isThenable(returned) ? (returned as Promise<unknown>) : command.promise;
}

/** Passes the command of a batch through; one that the replacement throws for fails alone. */
export function passThrough(command: Command, send: (command: Command) => unknown): void {
  try {
    const returned = send(command);
    // The batch reports the outcome; what the replacement makes of it has no other reader.
    if (isThenable(returned)) returned.then(undefined, ignore);
  } catch (error) {
    command.fail(toError(error));
    command.batch?.dropOut();
  }
}

function ignore(): void {}
