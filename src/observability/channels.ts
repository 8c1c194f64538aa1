/**
 * The tracing channels for instrumentation of this API: commands, transactions and connection attempts. They
 * keep the names that existing tracers know. Nothing is allocated without a subscriber: read `isHeard`
 * first. Each operation publishes `start`, `end`, on failure `error`, then `asyncStart` and `asyncEnd`, always
 * with the same context object and without a promise.
 */

import { type TracingChannel, tracingChannel } from "node:diagnostics_channel";
import { redactUrl } from "./redact";

export interface ServerContext {
  /** The configured host or path; behind Sentinel the reported server. */
  serverAddress: string;
  /** Undefined for unix sockets. */
  serverPort: number | undefined;
}

interface OutcomeContext {
  result?: unknown;
  error?: Error;
}

/** One written command. */
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
  /** The number of commands without MULTI and EXEC. */
  batchSize: number;
  database: number;
}

/** One attempt to connect. */
export interface ConnectTraceContext extends ServerContext, OutcomeContext {
  /** Attempts before this one. */
  connectionEpoch: number;
}

/** The operations of one kind. Each publishes `start` and `end`, later `error` if it fails, `asyncStart` and `asyncEnd`. */
export class WorkChannel<Context extends OutcomeContext> {
  private readonly channel: TracingChannel<unknown, Context>;

  constructor(name: string) {
    this.channel = tracingChannel(name);
  }

  get isHeard(): boolean {
    const { start, end, asyncStart, asyncEnd, error } = this.channel;
    // Not `channel.hasSubscribers`, which is missing in earlier releases of Node 20.
    return (
      start.hasSubscribers ||
      end.hasSubscribers ||
      asyncStart.hasSubscribers ||
      asyncEnd.hasSubscribers ||
      error.hasSubscribers
    );
  }

  /** Begins an operation. `work`, its synchronous part, runs in the contexts that tracers have bound. */
  begin(context: Context, work: () => void = () => {}): Context {
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

export const commandChannel: WorkChannel<CommandTraceContext> = new WorkChannel("ioredis:command");
export const batchChannel: WorkChannel<BatchOperationContext> = new WorkChannel("ioredis:batch");
export const connectChannel: WorkChannel<ConnectTraceContext> = new WorkChannel("ioredis:connect");

/** A published operation. Its outcome must be reported before the caller receives it. */
export class Trace<Context extends OutcomeContext> {
  constructor(
    private readonly channel: WorkChannel<Context>,
    readonly context: Context,
  ) {}

  /** Runs the synchronous part of the operation; must be called first. */
  around(work?: () => void): this {
    this.channel.begin(this.context, work);
    return this;
  }

  onSettled(error: Error | null, value?: unknown): void {
    if (error === null) this.context.result = value;
    this.channel.settle(this.context, error ?? undefined);
  }
}

/** The server in readable form: `host:port`, or the path of the socket. */
export function placeOf({ serverAddress, serverPort }: ServerContext): string {
  return serverPort === undefined ? redactUrl(serverAddress) : `${serverAddress}:${serverPort}`;
}
