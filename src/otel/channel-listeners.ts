/** The channels of the client besides calls and batches: commands for `spans: "command"`, connections, automatic batches. */

import { type TracingChannelSubscribers, tracingChannel } from "node:diagnostics_channel";
import type { Context, Histogram } from "@opentelemetry/api";
import { errorCode } from "../command/promise-completion";
import type { CommandTraceContext } from "../observability/channels";
import { hooks } from "../observability/hooks";
import type { ConnectionContext } from "../observability/work-channels";
import { clockMs } from "../util/scheduling";
import type { Api } from "./api";
import { operationName } from "./call-groups";
import { type Operations, poolOf } from "./operations";

interface Begun {
  readonly parent: Context;
  readonly beganMs: number;
}

/** The key, on the context of an operation, of the data recorded at its beginning. */
const BEGUN: unique symbol = Symbol("sluice.otel.begun");
type Noted<C> = C & { [BEGUN]?: Begun };

function note(context: object, parent: Context): void {
  // Not enumerable, so that a copy of the context contains only documented fields.
  Object.defineProperty(context, BEGUN, { value: { parent, beganMs: clockMs() } });
}

/** Listens until the returned function is called. Errors of listeners are ignored. */
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
        // An error of the exporter must not reach the caller.
      }
    };
  const channel = tracingChannel<unknown, object>(name);
  const subscribers = { start: carefully(onStart), asyncEnd: carefully(onEnd) };
  channel.subscribe(subscribers as unknown as TracingChannelSubscribers<object>);
  return () => void channel.unsubscribe(subscribers as unknown as TracingChannelSubscribers<object>);
}

/** One span for each written command, including members of batches. */
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
      const shared = operations.targetAt(context).attributesOf(name);
      operations.addSpan({ ...operation, ...start, endedMs: clockMs(), isTraced: true }, shared);
    },
  );
}

/** The time until a connection is ready. */
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
      createTime.record((clockMs() - beganMs) / 1000, { "db.client.connection.pool.name": poolOf(context) });
    },
  );
}

/** The time in which automatic batches are collected. */
export function followGathering(operations: Operations, windowWait: Histogram): () => void {
  const listener: typeof hooks.gathered = (ms, source) =>
    windowWait.record(ms / 1000, operations.targetOf(source, clockMs()).pool);
  hooks.gathered = listener;
  return () => {
    if (hooks.gathered === listener) hooks.gathered = null;
  };
}
