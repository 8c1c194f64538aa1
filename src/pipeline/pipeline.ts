/**
 * The public face of a pipeline: collects commands, sends them as one batch with `exec()`.
 * Knows only the port its client gives it: whether one server or a cluster is below is not its
 * affair. Its state sits in a `PipelineRun` under a symbol, because scripts of users become
 * methods here under any name.
 *
 * `multi()` opens a transaction inside it; the next `exec()` closes it and returns the pipeline.
 */

import type { CommandSpec } from "../command/command-spec";
import { specOf } from "../command/command-table";
import { attachCommands, type Commander, EXECUTE } from "../command/commander";
import { PipelineUsedError } from "../errors";
import { asCallback, type Callback } from "../util/callback";
import { type PipelineHost, type PipelinePort, PipelineRun, type Rows } from "./pipeline-run";

/** How `exec()` sends what was collected. */
export interface ExecOptions {
  /** Commands that are sent together; the next ones follow when these are answered. Default: all. */
  batchSize?: number | undefined;
}

export const RUN = Symbol("run");

export class Pipeline implements Commander {
  readonly isPipeline = true;
  readonly isCluster: boolean;
  readonly options: PipelineHost["options"];
  /** The outcome of the first `exec()`. */
  readonly promise: Promise<Rows | null>;
  readonly [RUN]: PipelineRun;

  constructor(
    /** The client it belongs to. */
    readonly redis: PipelineHost,
    port: PipelinePort,
    isTransaction = false,
  ) {
    this.isCluster = redis.isCluster;
    this.options = redis.options;
    this[RUN] = new PipelineRun(port, redis.options.keyPrefix, isTransaction);
    this.promise = this[RUN].outcome;
    if (isTransaction) this[RUN].openTransaction();
  }

  /** Commands queued so far, MULTI and EXEC included. */
  get length(): number {
    return this[RUN].commands.length;
  }

  /** Queues `[[name, ...args, callback?], ...]`. Throws a TypeError for an unknown name. */
  addBatch(commands: readonly (readonly unknown[])[]): this {
    for (const [name, ...args] of commands) {
      const method = (this as unknown as Record<string, unknown>)[String(name)];
      if (typeof method !== "function") {
        throw new TypeError(`Unknown command "${String(name)}" in a batch; use ["call", name, ...]`);
      }
      method.apply(this, args);
    }
    return this;
  }

  /** Queues any command by its name, which is sent as given. */
  call(name: string, ...args: unknown[]): this {
    return this[EXECUTE](specOf(name), args, false);
  }

  callBuffer(name: string, ...args: unknown[]): this {
    return this[EXECUTE](specOf(name), args, true);
  }

  multi(): this {
    this[RUN].openTransaction();
    return this;
  }

  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): this {
    this[RUN].queue(spec, args, wantsBuffers);
    return this;
  }

  /**
   * Closes the open transaction and returns the pipeline, or sends everything and returns the
   * promise of one row for each command, in order. Errors of commands are in their rows; it
   * rejects only when a pipeline that is one transaction was discarded or aborted, and when it
   * is called again.
   */
  exec(
    options?: Callback<Rows | null> | ExecOptions,
    callback?: Callback<Rows | null>,
  ): this | Promise<Rows | null> {
    if (typeof options === "function") return this.exec(undefined, options);
    const run = this[RUN];
    if (run.isExecuted) return asCallback(Promise.reject(new PipelineUsedError()), callback);
    if (run.openTransactions > 0) {
      run.closeTransaction();
      if (!run.isTransaction || run.openTransactions > 0) return this;
    }
    run.start(options?.batchSize);
    return asCallback(run.outcome, callback);
  }

  /** Deprecated: as `exec` in a transaction; otherwise queues a bare EXEC and returns the pipeline. */
  execBuffer(callback?: Callback<Rows | null>): this | Promise<Rows | null> {
    process.emitWarning("Pipeline#execBuffer: Use Pipeline#exec instead", "DeprecationWarning");
    if (this[RUN].openTransactions > 0) return this.exec(callback);
    return this[EXECUTE](specOf("exec"), [], true);
  }
}

attachCommands(Pipeline.prototype);
