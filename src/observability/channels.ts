/**
 * The tracing channels that instrumentation of this API listens to: commands, transactions and
 * connects. They keep the names that existing tracers know. Nothing is built while nobody listens:
 * ask `is...Traced()` first. Each operation reports `start`, `end`, on failure `error`, then
 * `asyncStart` and `asyncEnd`, always with the same context object; no promise is made for it.
 */

import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import { maskName } from "../util/credentials";
import { redactArguments } from "./redact";

export interface ServerContext {
  /** Configured host or path; behind Sentinel the server that was found. */
  serverAddress: string;
  /** Undefined for unix sockets. */
  serverPort: number | undefined;
}

interface OutcomeContext {
  result?: unknown;
  error?: Error;
}

/** One command that is written. */
export interface CommandTraceContext extends ServerContext, OutcomeContext {
  /** The name as it is sent. */
  command: string;
  /** Values are replaced by "?". */
  args: string[];
  database: number;
}

/** One `multi().exec()`. */
export interface BatchOperationContext extends ServerContext, OutcomeContext {
  batchMode: "MULTI";
  /** Commands without MULTI and EXEC. */
  batchSize: number;
  database: number;
}

/** One attempt to connect. */
export interface ConnectTraceContext extends ServerContext, OutcomeContext {
  /** Attempts before this one. */
  connectionEpoch: number;
}

type Channel<Context extends object> = TracingChannel<unknown, Context>;

const commandChannel: Channel<CommandTraceContext> = tracingChannel("ioredis:command");
const batchChannel: Channel<BatchOperationContext> = tracingChannel("ioredis:batch");
const connectChannel: Channel<ConnectTraceContext> = tracingChannel("ioredis:connect");

/** True while somebody listens to commands. */
export function isCommandTraced(): boolean {
  return isHeard(commandChannel);
}

export function isBatchTraced(): boolean {
  return isHeard(batchChannel);
}

export function isConnectTraced(): boolean {
  return isHeard(connectChannel);
}

/** A reported operation. Tell it the outcome before the caller hears of it. */
class Trace<Context extends OutcomeContext = OutcomeContext> {
  constructor(
    private readonly channel: Channel<Context>,
    readonly context: Context,
  ) {}

  /** Does the part of the operation that is done at once; must be called first. */
  around(work: () => void): this {
    // Not just `publish`: so the work runs in the stores that tracers bound to the channel.
    this.channel.start.runStores(this.context, work);
    this.channel.end.publish(this.context);
    return this;
  }

  onFulfilled(value: unknown): void {
    this.context.result = value;
    this.settle();
  }

  onFailed(error: Error): void {
    this.context.error = error;
    this.channel.error.publish(this.context);
    this.settle();
  }

  private settle(): void {
    this.channel.asyncStart.publish(this.context);
    this.channel.asyncEnd.publish(this.context);
  }
}

/** Where a command goes, as its trace reports it. */
export interface CommandOrigin extends ServerContext {
  database: number;
}

/** The trace of a command that is being written. */
export function traceCommand(
  name: string,
  args: readonly unknown[],
  origin: CommandOrigin,
): Trace<CommandTraceContext> {
  return new Trace(commandChannel, {
    command: maskName(name, args),
    args: redactArguments(name, args),
    database: origin.database,
    serverAddress: origin.serverAddress,
    serverPort: origin.serverPort,
  });
}

/** The trace of a transaction. */
export function traceBatch(batchSize: number, origin: CommandOrigin): Trace<BatchOperationContext> {
  return new Trace(batchChannel, {
    batchMode: "MULTI",
    batchSize,
    database: origin.database,
    serverAddress: origin.serverAddress,
    serverPort: origin.serverPort,
  });
}

/** The trace of an attempt to connect. */
export function traceConnect(connectionEpoch: number, server: ServerContext): Trace<ConnectTraceContext> {
  return new Trace(connectChannel, {
    serverAddress: server.serverAddress,
    serverPort: server.serverPort,
    connectionEpoch,
  });
}

/** True while somebody listens to any part of the operations. */
function isHeard<Context extends object>(channel: Channel<Context>): boolean {
  // Not `channel.hasSubscribers`: Node 20 has it only in its later releases.
  return (
    channel.start.hasSubscribers ||
    channel.end.hasSubscribers ||
    channel.asyncStart.hasSubscribers ||
    channel.asyncEnd.hasSubscribers ||
    channel.error.hasSubscribers
  );
}

/** The client's own operations of one kind (`work-channels.ts`); each reports `start` and `end`, later `error` if it fails, `asyncStart` and `asyncEnd`. */
export class WorkChannel<Context extends { error?: Error }> {
  private readonly channel: TracingChannel<unknown, Context>;

  constructor(name: string) {
    this.channel = tracingChannel(name);
  }

  get isHeard(): boolean {
    return isHeard(this.channel);
  }

  /** Begins an operation; the work that is done at once runs in the stores that tracers have bound. */
  begin(context: Context, work: () => void = nothing): Context {
    this.channel.start.runStores(context, work);
    this.channel.end.publish(context);
    return context;
  }

  settle(context: Context, error?: Error): void {
    if (error !== undefined) {
      context.error = error;
      this.channel.error.publish(context);
    }
    this.channel.asyncStart.publish(context);
    this.channel.asyncEnd.publish(context);
  }
}

function nothing(): void {}
