/**
 * The cost of tracing: every batch or command belongs to a request with a span, with and without the client's
 * instrumentation. A processor drops the spans. The rows *by hand* are the reference: the program itself
 * creates the same span and the same record. The cost beyond these rows is the client's, and their cost is
 * the SDK's.
 */

import path from "node:path";
import {
  type Attributes,
  context as contextApi,
  metrics,
  type Span,
  SpanKind,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, type SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { buildOf, createSide, type SideName } from "../sides/all-sides";
import { type Address, type ClientSide, type Issue, isClientSide } from "../sides/side";
import { Clock } from "../support/clock";
import { operationsOf } from "../support/dataset";
import { type Figures, Meter } from "../support/meter";
import { CPU, OPS, P50, P99, type Row, type SampleContext, type Scenario } from "../support/scenario";
import { LatencyRecorder } from "../support/statistics";

type Shape = "pipeline" | "turn" | "single";
type Mode = "off" | "on" | "hand" | "stopped";

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
  { mode: "hand", title: "traced by hand", sides: OWN_SIDES },
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
/** Services are warm: the compiler is done with the SDK after some ten thousand spans. */
const LEAST_WARM_MS = 2500;
const LEAST_MEASURE_MS = 1000;

export const traced: Scenario<TracedRow> = {
  id: "traced",
  rounds: 3,
  title: "Traced",
  about:
    'Each pipeline, each `Promise.all` of 100 and each of 50 callers\' commands is a request with its own span. sluice uses `instrument({ spans: "batch", metrics: true })` of `sluice/otel`. ioredis uses `@opentelemetry/instrumentation-ioredis`, which creates a span for each command. *Traced by hand*: without instrumentation, the program creates one span and one record of the duration for each request, with the same attributes.',
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
  if (mode === "off" || mode === "hand") return;
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
function requestOf(
  side: ClientSide,
  { shape, width, mode }: TracedRow,
  tracer: Tracer,
  place: Address,
): Issue {
  const operations = operationsOf("mixed16");
  const ask = shape === "pipeline" ? side.bindBatch(operations, width) : turnOf(side, width);
  const hand = mode === "hand" ? new HandTracer(width, place) : null;
  return () =>
    tracer.startActiveSpan("request", async (span) => {
      const startMs = performance.now();
      const own = hand?.start();
      await ask();
      if (own !== undefined) hand?.end(own, startMs);
      span.end();
    });
}

/** The calls of the SDK that a program makes which traces its requests to Redis itself. */
class HandTracer {
  private readonly tracer = trace.getTracer("by hand");
  private readonly duration = metrics.getMeter("by hand").createHistogram("db.client.operation.duration", {
    unit: "s",
    advice: { explicitBucketBoundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] },
  });
  private readonly name: string;
  private readonly shared: Attributes;
  private readonly ofSpan: Attributes;

  constructor(width: number, { host, port }: Address) {
    this.name = width === 1 ? "GET" : "PIPELINE";
    this.shared = {
      "db.system.name": "redis",
      "db.operation.name": this.name,
      "db.namespace": "0",
      "server.address": host,
      "server.port": port,
      "network.peer.address": host,
      "network.peer.port": port,
    };
    this.ofSpan = width === 1 ? this.shared : { ...this.shared, "db.operation.batch.size": width };
  }

  start(): Span {
    return this.tracer.startSpan(this.name, { kind: SpanKind.CLIENT, attributes: this.ofSpan });
  }

  end(span: Span, startMs: number): void {
    this.duration.record((performance.now() - startMs) / 1000, this.shared);
    span.end();
  }
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
  const [place] = context.target.nodes as [Address];
  const request = requestOf(side, row, tracer, place);
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
  const { warmMs, measureMs } = context.budget;
  await pass(Math.max(warmMs, LEAST_WARM_MS), new LatencyRecorder(1));
  const latencies = new LatencyRecorder();
  const meter = new Meter();
  meter.start();
  const figures = await meter.stop(await pass(Math.max(measureMs, LEAST_MEASURE_MS), latencies));
  await side.close();
  return { ...figures, ...latencies.quantiles() };
}
