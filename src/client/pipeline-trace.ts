/** Follows one pipeline, transaction or batch of a bulk for `sluice:pipeline`, `sluice/otel` and the debug output. */

import { errorCode } from "../command/promise-completion";
import { placeOf } from "../observability/channels";
import { type BatchEnd, type BatchFacts, type CallSource, hooks } from "../observability/hooks";
import { type PipelineContext, pipelineChannel } from "../observability/work-channels";
import type { PipelineObserver } from "../pipeline/pipeline-run";
import type { Rows } from "../pipeline/transaction";
import { maskName } from "../util/credentials";
import { debugLog } from "../util/debug";
import { clockMs } from "../util/scheduling";
import { quietly } from "../util/user-code";

const MOST_NAMES = 16;

const debug = debugLog("pipeline");

/** A client as tracers of calls and batches see it. */
export interface TraceSource extends CallSource {
  /** The debug output is enabled. The environment is read only once. */
  readonly isLogging: boolean;
  /** The number of nodes that share the last batch. */
  nodesOfLast(): number;
}

/** Null if the only subscriber ignores this batch. */
export function tracePipeline(run: BatchFacts, source: TraceSource): PipelineObserver | null {
  const { isLogging } = source;
  const { isHeard } = pipelineChannel;
  const listener = quietly(() => hooks.batch?.(run, source)) ?? null;
  if (listener === null && !isHeard && !isLogging) return null;
  const context = isHeard || isLogging ? makeContext(run, source) : null;
  return new PipelineTrace(source, listener, context, isHeard);
}

function makeContext(run: BatchFacts, source: TraceSource): PipelineContext {
  const size = run.kind === "transaction" ? run.length - 2 : run.length;
  const { database, isPatched } = source;
  return { kind: run.kind, size, commands: countNames(run), database, isPatched, ...source.server() };
}

class PipelineTrace implements PipelineObserver {
  private readonly beganMs = clockMs();
  private startedMs: number | null = null;
  private answeredMs: number | null = null;

  constructor(
    private readonly source: TraceSource,
    private readonly listener: BatchEnd | null,
    /** For the channel and the debug output. */
    private readonly context: PipelineContext | null,
    private readonly isHeard: boolean,
  ) {}

  around(send: () => void): void {
    const { context } = this;
    if (context === null) {
      send();
      return;
    }
    const work = (): void => {
      send();
      context.nodes = this.source.nodesOfLast();
    };
    if (this.isHeard) pipelineChannel.begin(context, work);
    else work();
  }

  onStarted(): void {
    this.startedMs ??= clockMs();
  }

  onAnswered(): void {
    this.answeredMs ??= clockMs();
  }

  onEnd(rows: Rows, failures: number, refusal: Error | null): void {
    const { context, beganMs, startedMs } = this;
    const queuedMs = startedMs === null ? null : startedMs - beganMs;
    const errors = failures === 0 ? {} : countErrors(rows);
    quietly(() => this.listener?.onEnd(errors, refusal, queuedMs));
    if (context === null) return;
    const { answeredMs } = this;
    const nowMs = clockMs();
    context.queuedMs = queuedMs;
    context.wireMs = startedMs === null || answeredMs === null ? null : answeredMs - startedMs;
    context.settlingMs = answeredMs === null ? null : nowMs - answeredMs;
    context.durationMs = nowMs - beganMs;
    context.errors = errors;
    if (this.source.isLogging) log(context);
    if (this.isHeard) pipelineChannel.settle(context, refusal ?? undefined);
  }
}

function log(context: PipelineContext): void {
  const { kind, size, commands, errors, nodes, durationMs = 0, queuedMs } = context;
  debug(
    "%s of %d (%s) to %s: %s ms, %s queued, %s",
    kind,
    size,
    commands === null ? "many commands" : listOf(commands),
    nodes === 1 ? placeOf(context) : `${nodes} nodes`,
    durationMs.toFixed(1),
    queuedMs == null ? "?" : queuedMs.toFixed(1),
    Object.keys(errors ?? {}).length === 0 ? "no errors" : listOf(errors ?? {}),
  );
}

function countNames(run: BatchFacts): Record<string, number> | null {
  const counts = new Map<string, number>();
  const brackets = run.kind === "transaction" ? 1 : 0;
  for (let index = brackets; index < run.length - brackets; index++) {
    // Users sometimes pass a whole command line as the name.
    add(counts, maskName(run.nameAt(index), []));
    if (counts.size > MOST_NAMES) return null;
  }
  return Object.fromEntries(counts);
}

function countErrors(rows: Rows): Record<string, number> {
  const counts = new Map<string, number>();
  // `forEach` skips the rows that a bulk does not keep.
  rows.forEach(([error, result]) => {
    // A result may hold the errors of the members of a transaction.
    for (const one of [error, ...(Array.isArray(result) ? result : [])])
      if (one instanceof Error) add(counts, errorCode(one));
  });
  return Object.fromEntries(counts);
}

function add(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function listOf(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
}
