/**
 * Single commands. Commands that are issued under one parent span without a write in between share a write, and
 * are one operation: `PIPELINE GET` if all are alike, else `PIPELINE`. A single command is an operation under
 * its own name. A command that joins a group allocates no object.
 */

import type { Context } from "@opentelemetry/api";
import { errorCode } from "../command/promise-completion";
import type { CallEnd, CallSource } from "../observability/hooks";
import { redactArguments } from "../observability/redact";
import { maskName } from "../util/credentials";
import { clockMs } from "../util/scheduling";
import type { Api } from "./api";
import type { Operation, Operations } from "./operations";

type Argument = string | Buffer;

/** The first argument of these commands names the script or function. */
const PROCEDURES = new Set(["evalsha", "evalsha_ro", "fcall", "fcall_ro"]);

const upperCase = new Map<string, string>();
const MOST_NAMES = 1000;

/** The operation name by the conventions. */
export function operationName(name: string): string {
  let upper = upperCase.get(name);
  if (upper === undefined) {
    upper = maskName(name, []).toUpperCase();
    if (upperCase.size < MOST_NAMES) upperCase.set(name, upper);
  }
  return upper;
}

export class CallGroups {
  private last: CallGroup | null = null;

  constructor(
    private readonly api: Api,
    private readonly operations: Operations,
    private readonly showsKeys: boolean,
    /** Returns false if another instrumentation creates the spans, or if single commands get none. */
    private readonly mayTrace: (source: CallSource) => boolean,
  ) {}

  /** Called for each single command when it is issued. */
  readonly onCall = (name: string, args: readonly Argument[], source: CallSource): CallEnd => {
    const parent = this.api.context.active();
    const { last } = this;
    if (last?.joins(parent, source)) {
      last.add(name);
      return last;
    }
    const isTraced = this.mayTrace(source) && this.operations.mayTrace(parent);
    const group = new CallGroup(this.operations, name, parent, source);
    group.isTraced = isTraced;
    if (isTraced && (this.showsKeys || PROCEDURES.has(name))) group.describe(args, this.showsKeys);
    this.last = group;
    return group;
  };
}

/** The object itself is the reported operation, so a single command costs one object. */
class CallGroup implements CallEnd, Operation {
  isTraced = false;
  batchSize: number | null = null;
  failure: string | null = null;
  endedMs = 0;
  queryText: string | undefined = undefined;
  procedure: string | undefined = undefined;
  readonly beganMs = clockMs();
  private count = 1;
  private left = 1;
  private isMixed = false;
  private failed = 0;
  private readonly flushes: number;

  constructor(
    private readonly operations: Operations,
    public name: string,
    readonly parent: Context,
    private readonly source: CallSource,
  ) {
    this.flushes = source.flushes;
  }

  joins(parent: Context, source: CallSource): boolean {
    return (
      this.left > 0 && this.parent === parent && this.source === source && this.flushes === source.flushes
    );
  }

  add(name: string): void {
    this.count++;
    this.left++;
    if (name !== this.name) this.isMixed = true;
  }

  describe(args: readonly Argument[], showsKeys: boolean): void {
    const shown = redactArguments(this.name, args);
    if (showsKeys) this.queryText = [operationName(this.name), ...shown].join(" ");
    if (PROCEDURES.has(this.name)) this.procedure = String(args[0]);
  }

  onFulfilled(): void {
    this.source.callCounts.onFulfilled();
    if (--this.left === 0) this.finish();
  }

  onFailed(error: Error): void {
    this.source.callCounts.onFailed(error);
    this.failed++;
    this.failure ??= errorCode(error);
    if (--this.left === 0) this.finish();
  }

  get message(): string {
    return this.failure === null ? "" : failureText(this.failed, this.count, this.failure);
  }

  private finish(): void {
    try {
      this.report();
    } catch {
      // An error of the exporter must not reach the caller.
    }
  }

  private report(): void {
    const { count } = this;
    const own = operationName(this.name);
    this.name = count === 1 ? own : this.isMixed ? "PIPELINE" : `PIPELINE ${own}`;
    this.endedMs = clockMs();
    if (count > 1) {
      this.batchSize = count;
      this.queryText = undefined;
      this.procedure = undefined;
    }
    const target = this.operations.targetOf(this.source, this.endedMs);
    this.operations.report(this, target.attributesOf(this.name));
  }
}

/** Only codes, because messages of error replies may contain values. */
export function failureText(failed: number, count: number, failure: string): string {
  return count === 1 ? failure : `${failed} of ${count} commands failed, the first with ${failure}`;
}
