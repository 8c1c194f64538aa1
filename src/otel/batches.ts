/** Pipelines, transactions and batches of bulks: one operation each, regardless of their size. */

import type { Context, Histogram } from "@opentelemetry/api";
import { errorCode } from "../command/promise-completion";
import type { BatchEnd, BatchFacts, CallSource } from "../observability/hooks";
import { clockMs } from "../util/scheduling";
import type { Api } from "./api";
import { failureText, operationName } from "./call-groups";
import type { Operation, Operations } from "./operations";

export class Batches {
  constructor(
    private readonly api: Api,
    readonly operations: Operations,
    private readonly hasSpans: boolean,
    readonly queueWait: Histogram | null,
  ) {}

  /** Called for each batch when it is sent. */
  readonly onBatch = (facts: BatchFacts, source: CallSource): BatchEnd => {
    const operation = new BatchOperation(this, facts, source, this.api.context.active());
    operation.isTraced = this.hasSpans && !source.isPatched && this.operations.mayTrace(operation.parent);
    return operation;
  };
}

/** The object itself is the reported operation. */
class BatchOperation implements BatchEnd, Operation {
  readonly name: string;
  readonly batchSize: number | null;
  readonly beganMs = clockMs();
  isTraced = false;
  endedMs = 0;
  failure: string | null = null;
  message = "";

  constructor(
    private readonly batches: Batches,
    facts: BatchFacts,
    private readonly source: CallSource,
    readonly parent: Context,
  ) {
    const size = facts.kind === "transaction" ? facts.length - 2 : facts.length;
    this.name = nameOf(facts, size);
    this.batchSize = size === 1 ? null : size;
  }

  onEnd(errors: Readonly<Record<string, number>>, refusal: Error | null, queuedMs: number | null): void {
    const { operations, queueWait } = this.batches;
    this.endedMs = clockMs();
    this.failure = refusal === null ? (Object.keys(errors)[0] ?? null) : errorCode(refusal);
    if (this.failure !== null) {
      const failed = Object.values(errors).reduce((sum, count) => sum + count, 0);
      this.message = failureText(failed, this.batchSize ?? 1, this.failure);
    }
    const target = operations.targetOf(this.source, this.endedMs);
    if (queuedMs !== null) queueWait?.record(queuedMs / 1000, target.pool, this.parent);
    operations.report(this, target.attributesOf(this.name));
  }
}

/** `PIPELINE GET` if all commands are alike; a pipeline of one command is that command. */
function nameOf(facts: BatchFacts, size: number): string {
  const word = facts.kind === "transaction" ? "MULTI" : "PIPELINE";
  if (size <= 0) return word;
  const first = facts.kind === "transaction" ? 1 : 0;
  const name = facts.nameAt(first);
  for (let index = first + 1; index < first + size; index++) {
    if (facts.nameAt(index) !== name) return word;
  }
  const own = operationName(name);
  return size === 1 && word === "PIPELINE" ? own : `${word} ${own}`;
}
