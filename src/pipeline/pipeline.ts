/**
 * The public class of a pipeline: collects commands and sends them as one batch with `exec()`. It knows only
 * the sender of its client, whether that is one server or a cluster. Its state is in a `PipelineRun` under a
 * symbol, because scripts of users become methods of this class under any name.
 *
 * `multi()` opens a transaction inside it; the next `exec()` closes it and returns the pipeline.
 */

import type { Command } from "../command/command";
import { nameError } from "../command/command-factory";
import type { CommandSpec } from "../command/command-spec";
import { commandNames, specOf } from "../command/command-table";
import {
  attachCommands,
  attachMethod,
  bothForms,
  type Commander,
  type CommandMethod,
  commandMethod,
  EXECUTE,
} from "../command/commander";
import type {
  ChainableCommander,
  ExecOptions,
  ExecReply,
  InlineTransaction,
  Known,
  KnownForms,
  ReplyForms,
  ReplyMapping,
  ReplyRows,
} from "../command/generated/signatures";
import { Script, type ScriptDefinition } from "../command/script";
import { PipelineUsedError } from "../errors";
import { MOST_SHOWN } from "../util/bounds";
import { asCallback, type Callback } from "../util/callback";
import { maskName } from "../util/credentials";
import { INSPECT, type InspectArguments } from "../util/inspect";
import { PIPELINE_CLASS, type PipelineHost, PipelineRun } from "./pipeline-run";
import type { Rows } from "./transaction";

const RUN: unique symbol = Symbol("run");
const OPEN_RUN: unique symbol = Symbol("openRun");

/** Whether the value was created by `multi()`, and not by `pipeline()`. */
export function isTransactionPipeline(value: unknown): value is Pipeline {
  return value instanceof Pipeline && value[RUN].isTransaction;
}

/** The methods of the command table, attached when the module is loaded. */
export interface Pipeline extends ChainableCommander {}

export class Pipeline implements Commander {
  /** Distinguishes a pipeline from a client. */
  readonly isPipeline = true;
  /** Its client is a `Cluster`. */
  readonly isCluster: boolean;
  /** The options of its client. */
  readonly options: PipelineHost["options"];
  /** The outcome of the first `exec()`. */
  readonly promise: Promise<Rows | null>;
  readonly [RUN]: PipelineRun;

  /** @param isTransaction The pipeline is one transaction, opened here and closed by `exec()`. */
  constructor(redis: PipelineHost, isTransaction?: boolean);
  /** @internal */
  constructor(redis: PipelineHost, isTransaction?: boolean, run?: PipelineRun);
  constructor(
    /** Its client. */
    readonly redis: PipelineHost,
    isTransaction = false,
    run: PipelineRun = new PipelineRun(redis, isTransaction),
  ) {
    this.isCluster = redis.isCluster;
    this.options = redis.options;
    this[RUN] = run;
    this.promise = run.outcome;
    // Created by hand, or of another class: the scripts of the client are attached to this object only.
    const own = redis[PIPELINE_CLASS]?.().prototype;
    if (own !== undefined && own !== new.target.prototype && own !== Pipeline.prototype) {
      Object.defineProperties(this, methodsOf(own));
    }
    if (isTransaction) this[OPEN_RUN].openTransaction();
  }

  [INSPECT](_depth: number, ...[style, inspect]: InspectArguments): string {
    const commands = this[RUN].describe(MOST_SHOWN);
    const more = this.length - commands.length;
    const list = inspect(commands, style);
    return `Pipeline(${this.length}) ${list}${more > 0 ? ` and ${more} that are not shown` : ""}`;
  }

  /** A short form for loggers, without arguments and options, which may be secret. */
  toJSON(): object {
    const names = this[RUN].describe(MOST_SHOWN).map(([name]) => name);
    return { length: this.length, commands: names };
  }

  /** The number of queued commands, including MULTI and EXEC. */
  get length(): number {
    return this[RUN].length;
  }

  /** Queues `[[name, ...args, callback?], ...]`. Throws a TypeError for an unknown name. */
  addBatch(commands: readonly (readonly unknown[])[]): this {
    for (const command of commands) {
      // Looked up as a property, because methods of a single pipeline may have been replaced.
      const method = methodOf(this, command[0]);
      const args = command.slice(1);
      if (method.command === undefined) method.apply(this, args);
      else this[EXECUTE](method.command.spec, args, method.command.wantsBuffers);
    }
    return this;
  }

  /** Queues any command by its name, which is sent as given. */
  call(name: string, ...args: unknown[]): this {
    return callByName(this, name, args, false) as this;
  }

  callBuffer(name: string, ...args: unknown[]): this {
    return callByName(this, name, args, true) as this;
  }

  /** Alias of `call`. */
  send_command(name: string, ...args: unknown[]): this {
    return callByName(this, name, args, false) as this;
  }

  /** Queues a command that was built by hand. Its row and its own promise report the outcome. */
  sendCommand(command: Command): this {
    this[RUN].queueCommand(command);
    return this;
  }

  /** Later commands pass through a `sendCommand` that a tracer has replaced, here or on the prototype. */
  private get [OPEN_RUN](): PipelineRun {
    const run = this[RUN];
    run.carrier = this.sendCommand === OWN_SEND_COMMAND ? null : this;
    return run;
  }

  /** Defines a named Lua script on this pipeline only. */
  defineCommand(name: string, definition: ScriptDefinition): void {
    defineInPipeline(this, name, new Script(definition, this.options.keyPrefix));
  }

  /** Adds `this[name]` and `this[name + "Buffer"]` on this pipeline only. */
  addBuiltinCommand(name: string): void {
    addToPipeline(this, name);
  }

  /** Two methods that queue the command on the pipeline on which they are called. */
  createBuiltinCommand(name: string): { string: CommandMethod; buffer: CommandMethod } {
    return { string: commandMethod(specOf(name), false), buffer: commandMethod(specOf(name), true) };
  }

  /** Names of the built-in commands, in lower case. */
  getBuiltinCommands(): string[] {
    return [...commandNames];
  }

  /** Begins a transaction inside the pipeline, which the next `exec()` closes. */
  multi(): InlineTransaction {
    this[OPEN_RUN].openTransaction();
    return this as unknown as InlineTransaction;
  }

  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): this {
    const run = this[RUN];
    run.carrier = this.sendCommand === OWN_SEND_COMMAND ? null : this;
    run.queue(spec, args, wantsBuffers);
    return this;
  }

  /**
   * Closes the open transaction and returns the pipeline, or sends all commands and returns the promise of one
   * row for each command, in order. Errors of commands are in their rows. It rejects if a transaction was
   * discarded or aborted, if no node of a cluster can be reached, and if it is called again.
   */
  exec<Each extends ReplyRows, Own extends ReplyMapping, OwnForms extends KnownForms<ReplyForms | false>>(
    this: ChainableCommander<Own, Known<Each>, OwnForms>,
    options: ExecOptions | undefined,
    callback?: Callback<ExecReply<Each> | null>,
  ): Promise<ExecReply<Each> | null>;
  exec<Each extends ReplyRows, Own extends ReplyMapping, OwnForms extends KnownForms<ReplyForms | false>>(
    this: ChainableCommander<Own, Known<Each>, OwnForms>,
    callback?: Callback<ExecReply<Each> | null>,
  ): Promise<ExecReply<Each> | null>;
  exec(first?: Callback<Rows | null> | ExecOptions, last?: Callback<Rows | null>): unknown {
    const isCallback = typeof first === "function";
    const options = isCallback ? undefined : first;
    const callback = isCallback ? first : last;
    const run = this[RUN];
    if (run.isExecuted) return asCallback(Promise.reject(new PipelineUsedError()), callback);
    const batchSize = options?.batchSize ?? Number.POSITIVE_INFINITY;
    if (!(batchSize >= 1)) {
      const error = new RangeError(`exec option "batchSize" must be at least 1, got ${batchSize}`);
      return asCallback(Promise.reject(error), callback);
    }
    if (run.openTransactions > 0) {
      this[OPEN_RUN].closeTransaction();
      if (!run.isTransaction || run.openTransactions > 0) return this;
    }
    run.start(batchSize);
    return asCallback(run.outcome, callback);
  }

  /** Deprecated: like `exec` in a transaction; otherwise queues a bare EXEC and returns the pipeline. */
  execBuffer(callback?: Callback<ReplyRows | null>): Promise<ReplyRows | null> {
    warnOnce();
    if (this[RUN].openTransactions > 0) return this.exec(callback);
    // Has the type of `exec`, although the API returns the pipeline here.
    return this[EXECUTE](specOf("exec"), [], true) as unknown as Promise<ReplyRows | null>;
  }
}

const OWN_SEND_COMMAND = Pipeline.prototype.sendCommand;

function callByName(pipeline: Pipeline, name: unknown, args: unknown[], wantsBuffers: boolean): Pipeline {
  if (typeof name === "string") return pipeline[EXECUTE](specOf(name), args, wantsBuffers);
  pipeline[RUN].appendBroken(specOf("call"), nameError());
  return pipeline;
}

/** Adds the methods of a script to pipelines. */
export function defineInPipeline(target: object, name: string, script: Script): void {
  for (const [method, wantsBuffers] of bothForms(name)) {
    attachMethod(target, method, function (this: Pipeline, ...args: unknown[]): Pipeline {
      this[OPEN_RUN].queue(specOf("evalsha"), args, wantsBuffers, script);
      return this;
    });
  }
}

/** Adds the methods of a command that the built-in table does not know to pipelines. */
export function addToPipeline(target: object, name: string): void {
  for (const [method, wantsBuffers] of bothForms(name)) {
    attachMethod(target, method, commandMethod(specOf(name), wantsBuffers));
  }
}

function methodsOf(prototype: object): PropertyDescriptorMap {
  const { constructor: _, ...methods } = Object.getOwnPropertyDescriptors(prototype);
  return methods;
}

/** The method for a name in a list of commands. */
export function methodOf(pipeline: Pipeline, given: unknown): CommandMethod {
  const name = String(given);
  const method = ownMethod(pipeline, name) ?? ownMethod(pipeline, name.toLowerCase());
  if (method === undefined) {
    throw new TypeError(`Unknown command "${maskName(name, [])}" in a batch; use ["call", name, ...]`);
  }
  return method;
}

/** Names may come from data: `constructor` and similar names are not commands. */
function ownMethod(pipeline: Pipeline, name: string): CommandMethod | undefined {
  const method = (pipeline as unknown as Record<string, CommandMethod | undefined>)[name];
  return typeof method === "function" && !(name in Object.prototype) ? method : undefined;
}

let hasWarned = false;

/** `deprecate()` of Node's util is silent in Cloudflare Workers. */
function warnOnce(): void {
  if (hasWarned) return;
  hasWarned = true;
  process.emitWarning("Pipeline#execBuffer: Use Pipeline#exec instead", "DeprecationWarning");
}

attachCommands(Pipeline.prototype);
