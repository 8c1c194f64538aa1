/**
 * What tracing costs: every batch or command belongs to a request that has a span, with the instrumentation of the
 * client and without. Spans end in a processor that drops them, so that the client's part is what is measured.
 */

import path from "node:path";
import { context as contextApi, metrics, type Tracer, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, type SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { buildOf, createSide, type SideName } from "../sides/all-sides";
import { type ClientSide, type Issue, isClientSide } from "../sides/side";
import { Clock } from "../support/clock";
import { operationsOf } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import { CPU, OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

type Shape = "pipeline" | "turn" | "single";
type Mode = "off" | "on" | "stopped";

interface TracedRow extends Row {
  readonly shape: Shape;
  readonly width: number;
  readonly mode: Mode;
}

const SIDES: readonly SideName[] = ["sluice", "before", "ioredis"];
const OWN_SIDES: readonly SideName[] = ["sluice", "before"];
const MODES: readonly { mode: Mode; title: string; sides: readonly SideName[] }[] = [
  { mode: "off", title: "requests traced, Redis not", sides: SIDES },
  { mode: "on", title: "Redis traced", sides: SIDES },
  { mode: "stopped", title: "instrumentation loaded, nobody listens", sides: OWN_SIDES },
];
const SHAPES: readonly { shape: Shape; width: number; title: string }[] = [
  { shape: "pipeline", width: 100, title: "pipeline of 100" },
  { shape: "pipeline", width: 1000, title: "pipeline of 1,000" },
  { shape: "turn", width: 100, title: "Promise.all of 100" },
  { shape: "single", width: 1, title: "one command" },
];
/** Requests at the same time, where each has one command. */
const CALLERS = 50;

export const traced: Scenario<TracedRow> = {
  id: "traced",
  rounds: 3,
  title: "Traced",
  about:
    'Each pipeline, each `Promise.all` of 100 and each of 50 callers\' commands is a request with a span of its own. sluice has `instrument({ spans: "batch", metrics: true })` of `sluice/otel`, ioredis has `@opentelemetry/instrumentation-ioredis`, which makes a span for each command.',
  columns: [OPS, CPU, P50, P99],
  rows: SHAPES.flatMap(({ shape, width, title: shapeTitle }) =>
    MODES.map(({ mode, title, sides }) => ({
      id: `traced-${shape}-${width}-${mode}`,
      title: `${shapeTitle}, ${title}`,
      sides,
      shape,
      width,
      mode,
    })),
  ),
  measure: measureTraced,
};

/** Collects when asked, which nobody does here. */
class IdleReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

function startTelemetry(): Tracer {
  const drop: SpanProcessor = {
    onStart: () => undefined,
    onEnd: () => undefined,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
  contextApi.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [drop] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [new IdleReader()] }));
  return trace.getTracer("requests");
}

interface OwnTelemetry {
  instrument(options: Record<string, unknown>): { disable(): void };
}

function instrument(side: SideName, mode: Mode): void {
  if (mode === "off") return;
  if (side === "ioredis") {
    // Patches the class when the module is loaded, which has not happened yet.
    const { IORedisInstrumentation } = require("@opentelemetry/instrumentation-ioredis") as {
      IORedisInstrumentation: new () => unknown;
    };
    new IORedisInstrumentation();
    return;
  }
  const telemetry = require(path.join(buildOf(side), "otel")) as OwnTelemetry;
  const { disable } = telemetry.instrument({ spans: "batch", metrics: true });
  if (mode === "stopped") disable();
}

/** One request: a span around what it asks of Redis. */
function requestOf(side: ClientSide, { shape, width }: TracedRow, tracer: Tracer): Issue {
  const operations = operationsOf("mixed16");
  const ask = shape === "pipeline" ? side.bindBatch(operations, width) : turnOf(side, width);
  return () =>
    tracer.startActiveSpan("request", async (span) => {
      await ask();
      span.end();
    });
}

function turnOf(side: ClientSide, width: number): Issue {
  const issues = operationsOf("mixed16").map((operation) => side.bind(operation));
  let at = 0;
  const next = (): Promise<unknown> => {
    at = at + 1 === issues.length ? 0 : at + 1;
    return (issues[at] as Issue)();
  };
  return width === 1 ? next : () => Promise.all(Array.from({ length: width }, next));
}

async function measureTraced(row: TracedRow, context: SampleContext): Promise<Figures> {
  const tracer = startTelemetry();
  instrument(context.sideName, row.mode);
  const side = createSide(context.sideName);
  if (!isClientSide(side)) throw new Error(`${side.name} offers no single commands`);
  await side.connect(context.target, { autoPipelining: false });
  const request = requestOf(side, row, tracer);
  const callers = row.shape === "single" ? CALLERS : 1;
  const pass = async (durationMs: number, latencies: LatencyRecorder): Promise<number> => {
    const clock = new Clock(durationMs, 0, 4);
    let done = 0;
    const caller = async (): Promise<void> => {
      do {
        const startMs = performance.now();
        await request();
        latencies.record(performance.now() - startMs);
        done += row.width;
      } while (!clock.expired());
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return done;
  };
  await pass(context.budget.warmMs, new LatencyRecorder(1));
  const latencies = new LatencyRecorder();
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await pass(context.budget.measureMs, latencies));
  await side.close();
  return { ...figures, ...latencies.quantiles() };
}
