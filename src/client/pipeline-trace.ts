/** Follows one pipeline, transaction or batch of a bulk for `sluice:pipeline` and the debug output. */

import { errorCode } from "../command/promise-completion";
import type { ServerContext } from "../observability/channels";
import type { CallSource } from "../observability/hooks";
import { type PipelineContext, pipelineChannel } from "../observability/work-channels";
import type { PipelineFacts, PipelineObserver } from "../pipeline/pipeline-run";
import type { Rows } from "../pipeline/transaction";
import { maskName } from "../util/credentials";
import { debugLog } from "../util/debug";
import { clockMs } from "../util/scheduling";

const MOST_NAMES = 16;

const debug = debugLog("pipeline");

/** Where it goes. */
export interface PipelineTarget extends CallSource {
  /** Nodes that the batch which was handed over last was divided among. */
  nodesOfLast(): number;
}

/** Null while nobody listens. `isLogging` was asked of the environment before. */
export function tracePipeline(
  run: PipelineFacts,
  target: PipelineTarget,
  isLogging: boolean,
): PipelineObserver | null {
  const isHeard = pipelineChannel.isHeard;
  return isHeard || isLogging ? new PipelineTrace(run, target, isHeard, isLogging) : null;
}

class PipelineTrace implements PipelineObserver {
  private readonly beganMs = clockMs();
  private startedMs: number | null = null;
  private answeredMs: number | null = null;
  private readonly context: PipelineContext;

  constructor(
    run: PipelineFacts,
    private readonly target: PipelineTarget,
    private readonly isHeard: boolean,
    private readonly isLogging: boolean,
  ) {
    const size = run.kind === "transaction" ? run.length - 2 : run.length;
    const { database, isPatched } = target;
    this.context = {
      kind: run.kind,
      size,
      commands: countNames(run),
      database,
      isPatched,
      ...target.server(),
    };
  }

  around(send: () => void): void {
    const work = (): void => {
      send();
      this.context.nodes = this.target.nodesOfLast();
    };
    if (this.isHeard) pipelineChannel.begin(this.context, work);
    else work();
  }

  onStarted(): void {
    this.startedMs ??= clockMs();
  }

  onAnswered(): void {
    this.answeredMs ??= clockMs();
  }

  onEnd(rows: Rows, failures: number, refusal: Error | null): void {
    const { context, beganMs, startedMs, answeredMs } = this;
    const nowMs = clockMs();
    context.queuedMs = startedMs === null ? null : startedMs - beganMs;
    context.wireMs = startedMs === null || answeredMs === null ? null : answeredMs - startedMs;
    context.settlingMs = answeredMs === null ? null : nowMs - answeredMs;
    context.durationMs = nowMs - beganMs;
    context.errors = failures === 0 ? {} : countErrors(rows);
    if (this.isLogging) this.log();
    if (this.isHeard) pipelineChannel.settle(context, refusal ?? undefined);
  }

  private log(): void {
    const { kind, size, commands, errors, nodes, durationMs = 0, queuedMs } = this.context;
    debug(
      "%s of %d (%s) to %s: %s ms, %s queued, %s",
      kind,
      size,
      commands === null ? "many commands" : listOf(commands),
      nodes === 1 ? placeOf(this.context) : `${nodes} nodes`,
      durationMs.toFixed(1),
      queuedMs == null ? "?" : queuedMs.toFixed(1),
      Object.keys(errors ?? {}).length === 0 ? "no errors" : listOf(errors ?? {}),
    );
  }
}

function countNames(run: PipelineFacts): Record<string, number> | null {
  const counts = new Map<string, number>();
  let last = "";
  let count = 0;
  const flush = (): void => {
    if (count === 0) return;
    // People write whole lines into a name.
    const name = maskName(last, []);
    counts.set(name, (counts.get(name) ?? 0) + count);
  };
  const isBracket = run.kind === "transaction";
  for (let index = isBracket ? 1 : 0; index < run.length - (isBracket ? 1 : 0); index++) {
    const name = run.nameAt(index);
    if (name === last) {
      count++;
      continue;
    }
    flush();
    if (counts.size > MOST_NAMES) return null;
    last = name;
    count = 1;
  }
  flush();
  return counts.size > MOST_NAMES ? null : Object.fromEntries(counts);
}

function countErrors(rows: Rows): Record<string, number> {
  const counts = new Map<string, number>();
  const note = (value: unknown): void => {
    if (!(value instanceof Error)) return;
    const code = errorCode(value);
    counts.set(code, (counts.get(code) ?? 0) + 1);
  };
  for (const [error, result] of rows) {
    note(error);
    // The members of a transaction.
    if (Array.isArray(result)) for (const element of result) note(element);
  }
  return Object.fromEntries(counts);
}

function listOf(counts: Record<string, number>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
}

function placeOf({ serverAddress, serverPort }: ServerContext): string {
  return serverPort === undefined ? serverAddress : `${serverAddress}:${serverPort}`;
}
