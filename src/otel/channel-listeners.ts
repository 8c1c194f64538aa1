/** What is heard on the channels of the client: batches, single commands for `spans: "command"`, connections. */

import { type TracingChannelSubscribers, tracingChannel } from "node:diagnostics_channel";
import type { Context, Histogram } from "@opentelemetry/api";
import { errorCode } from "../command/promise-completion";
import type { CommandTraceContext } from "../observability/channels";
import type { ConnectionContext, PipelineContext } from "../observability/work-channels";
import { clockMs } from "../util/scheduling";
import type { Api } from "./api";
import { failureText, operationName } from "./call-groups";
import type { Operations } from "./operations";
import type { Settings } from "./options";

interface Begun {
  readonly parent: Context;
  readonly beganMs: number;
}

/** On the context of an operation: what was noted when it began. */
const BEGUN: unique symbol = Symbol("sluice.otel.begun");
type Noted<C> = C & { [BEGUN]?: Begun };

function note(context: object, parent: Context): void {
  // Not enumerable, so that who copies a context copies what is documented.
  Object.defineProperty(context, BEGUN, { value: { parent, beganMs: clockMs() } });
}

/** Listens until the returned function is called. What a listener throws ends here. */
function listen<C extends object>(
  name: string,
  onStart: (context: C) => void,
  onEnd: (context: C) => void,
): () => void {
  const carefully =
    (work: (context: C) => void) =>
    (context: object): void => {
      try {
        work(context as C);
      } catch {
        // An exporter that throws is not the caller's affair.
      }
    };
  const channel = tracingChannel<unknown, object>(name);
  const subscribers = { start: carefully(onStart), asyncEnd: carefully(onEnd) };
  channel.subscribe(subscribers as unknown as TracingChannelSubscribers<object>);
  return () => void channel.unsubscribe(subscribers as unknown as TracingChannelSubscribers<object>);
}

/** Pipelines, transactions and batches of bulks: one operation each. */
export function followPipelines(
  api: Api,
  operations: Operations,
  settings: Settings,
  queueWait: Histogram | null,
): () => void {
  const isTraced = settings.spans === "batch";
  return listen<Noted<PipelineContext>>(
    "sluice:pipeline",
    (context) => note(context, api.context.active()),
    (context) => {
      const start = context[BEGUN];
      if (start === undefined) return;
      const { parent, beganMs } = start;
      const { size, queuedMs } = context;
      const name = nameOf(context);
      const shared = operations.attributesAt(name, context);
      if (queuedMs != null) queueWait?.record(queuedMs / 1000, shared, parent);
      const { failure, failed } = failureOf(context);
      operations.report(
        {
          name,
          batchSize: size === 1 ? null : size,
          failure,
          message: failure === null ? "" : failureText(failed, size, failure),
          parent,
          beganMs,
          endedMs: clockMs(),
          isTraced: isTraced && !context.isPatched && operations.mayTrace(parent),
        },
        shared,
      );
    },
  );
}

/** `PIPELINE GET` if all commands are alike; a pipeline of one command is that command. */
function nameOf({ kind, size, commands }: PipelineContext): string {
  const names = Object.keys(commands ?? {});
  const alike = names.length === 1 ? operationName(names[0] as string) : null;
  if (kind !== "transaction" && size === 1 && alike !== null) return alike;
  const word = kind === "transaction" ? "MULTI" : "PIPELINE";
  return alike === null ? word : `${word} ${alike}`;
}

function failureOf({ errors = {}, error }: PipelineContext): { failure: string | null; failed: number } {
  const failed = Object.values(errors).reduce((sum, count) => sum + count, 0);
  if (error !== undefined) return { failure: errorCode(error), failed };
  return { failure: Object.keys(errors)[0] ?? null, failed };
}

/** Each command that is written, members of batches too: one span each. */
export function followCommands(api: Api, operations: Operations, mayTrace: () => boolean): () => void {
  return listen<Noted<CommandTraceContext>>(
    "ioredis:command",
    (context) => {
      const parent = api.context.active();
      if (mayTrace() && operations.mayTrace(parent)) note(context, parent);
    },
    (context) => {
      const start = context[BEGUN];
      if (start === undefined) return;
      const failure = context.error === undefined ? null : errorCode(context.error);
      const name = operationName(context.command.toLowerCase());
      const operation = { name, batchSize: null, failure, message: failure ?? "" };
      const shared = operations.attributesAt(name, context);
      operations.addSpan({ ...operation, ...start, endedMs: clockMs(), isTraced: true }, shared);
    },
  );
}

/** How long it takes until a connection is ready. */
export function followConnections(createTime: Histogram): () => void {
  const begun = new WeakMap<ConnectionContext, number>();
  return listen<ConnectionContext>(
    "sluice:connection",
    (context) => {
      if (context.operation === "attempt") begun.set(context, clockMs());
    },
    (context) => {
      const beganMs = begun.get(context);
      if (beganMs === undefined || context.error !== undefined) return;
      const { serverAddress, serverPort } = context;
      const pool = serverPort === undefined ? serverAddress : `${serverAddress}:${serverPort}`;
      createTime.record((clockMs() - beganMs) / 1000, { "db.client.connection.pool.name": pool });
    },
  );
}
