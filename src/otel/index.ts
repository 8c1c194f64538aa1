/**
 * OpenTelemetry for the clients of this process: spans and metrics by the semantic conventions for
 * Redis, one span for each batch. The client never loads this; users install `@opentelemetry/api`.
 */

import type { CallSource } from "../observability/hooks";
import { hooks } from "../observability/hooks";
import { VERSION } from "../util/version";
import { loadApi } from "./api";
import { Batches } from "./batches";
import { CallGroups } from "./call-groups";
import { followCommands, followConnections, followGathering } from "./channel-listeners";
import { makeHistograms, observeClients } from "./instruments";
import { Operations } from "./operations";
import { checkOptions, type InstrumentOptions } from "./options";

export type { InstrumentOptions } from "./options";

const SCOPE = "sluice/otel";

/** The result of `instrument()`. */
export interface Instrumented {
  /** Ends the instrumentation. Operations in flight are not reported. */
  disable(): void;
}

let present: Instrumented | null = null;

/**
 * Reports the work of all clients of the process to OpenTelemetry, including existing clients. A second call
 * replaces the first. While the ioredis instrumentation of OpenTelemetry is active, which creates a span for
 * each command, this one creates no spans; disable the other one.
 * @throws TypeError for an unknown option or value.
 * @throws Error if `@opentelemetry/api` is not installed.
 * @example
 * import { instrument } from "sluice/otel";
 * const { disable } = instrument({ spans: "batch", metrics: true });
 */
export function instrument(options: InstrumentOptions = {}): Instrumented {
  const settings = checkOptions(options);
  const api = loadApi();
  present?.disable();
  const tracer = (settings.tracerProvider ?? api.trace).getTracer(SCOPE, VERSION);
  const meter = settings.metrics ? (settings.meterProvider ?? api.metrics).getMeter(SCOPE, VERSION) : null;
  const histograms = meter === null ? null : makeHistograms(meter);
  const operations = new Operations(api, settings, tracer, histograms?.duration ?? null);
  let hasWarned = false;
  let isPatched = false;
  const mayTrace = (source: CallSource): boolean => {
    isPatched = source.isPatched;
    if (isPatched && settings.spans !== "none" && !hasWarned) {
      hasWarned = true;
      api.diag.warn(
        "sluice/otel adds no spans, because another instrumentation creates a span for each command",
      );
    }
    return !isPatched && settings.spans === "batch";
  };
  const groups = new CallGroups(api, operations, settings.queryText === "keys", mayTrace);
  const batches = new Batches(api, operations, settings.spans === "batch", histograms?.queueWait ?? null);
  const stops: (() => void)[] = [];
  if (settings.spans === "command") stops.push(followCommands(api, operations, () => !isPatched));
  if (meter !== null && histograms !== null) {
    const stopGathering = followGathering(operations, histograms.windowWait);
    stops.push(observeClients(meter), followConnections(histograms.createTime), stopGathering);
  }
  if (settings.spans !== "none" || settings.metrics) {
    hooks.call = groups.onCall;
    hooks.batch = batches.onBatch;
  }
  return takePlace(() => {
    for (const stop of stops) stop();
    if (hooks.call === groups.onCall) hooks.call = null;
    if (hooks.batch === batches.onBatch) hooks.batch = null;
  });
}

function takePlace(stop: () => void): Instrumented {
  const own: Instrumented = {
    disable() {
      if (present !== own) return;
      present = null;
      stop();
    },
  };
  present = own;
  return own;
}
