/**
 * What `Redis` and `Cluster` have in common: turning calls into commands, pipelines,
 * transactions and scripts. Members that only the client itself needs are keyed by symbols,
 * because scripts of users become methods here under any name they like.
 */

import { EventEmitter } from "node:events";
import type { Command } from "../command/command";
import { applyPrefix, makeCommand, nameError } from "../command/command-factory";
import type { CommandSpec } from "../command/command-spec";
import { commandNames, specOf } from "../command/command-table";
import {
  attachCommands,
  attachMethod,
  attachOwn,
  bothForms,
  type Commander,
  commandMethod,
  EXECUTE,
} from "../command/commander";
import type { Dispatcher } from "../command/dispatcher";
import type {
  ChainableCommander,
  Known,
  OneOrMany,
  RedisValue,
  ReplyRows,
} from "../command/generated/signatures";
import { PromiseCompletion } from "../command/promise-completion";
import { INSPECT, type InspectArguments, showClient } from "../observability/redact";
import { Bulk, type BulkOptions } from "../pipeline/bulk";
import { BulkBatch, type BulkCommand } from "../pipeline/bulk-batch";
import { Pipeline, RUN } from "../pipeline/pipeline";
import type { BatchObserver, PipelineHost, PipelinePort } from "../pipeline/pipeline-run";
import { wrapExecReply } from "../pipeline/transaction";
import { Script, type ScriptDefinition } from "../scripting/script";
import { ScanStream, type ScanStreamOptions } from "../streaming/scan-stream";
import { asCallback, asMappedCallback, type Callback, takeCallback } from "../util/callback";
import { toError } from "../util/user-code";
import { captureCallSite } from "./call-site";
import { keepScope, OBSERVE, refusingLate } from "./client-tracer";
import { type CallLimits, type LimitContext, Limiter, type LimitOptions } from "./command-limits";
import { LegacyCommand } from "./legacy-command";
import { makeViewPrototype } from "./limited-view";
import { makeMethod } from "./made-method";
import { checkByHand, outcomeOf, passThrough } from "./replaced-send";
import type { ClientCommands, CommandList, MappingOf, ReplyMappingMode } from "./types";

export interface ClientOptions extends LimitOptions {
  keyPrefix?: string | Buffer | undefined;
  showFriendlyErrorStack?: boolean | undefined;
  scripts?: Record<string, ScriptDefinition> | undefined;
}

type CallWithCallback = [command: string, ...args: OneOrMany<RedisValue>[], callback: Callback<unknown>];
/** At run time the whole command may be one array. */
type CommandName = string | readonly unknown[];
type AnyMethod = (...args: unknown[]) => unknown;

/** First dispatcher of the chain (the auto-pipeliner, if there is one). */
export const CHAIN = Symbol("chain");
/** The dispatcher below the auto-pipeliner. */
export const BOTTOM = Symbol("bottom");
export const LIMITS = Symbol("limits");
export const PASS_BATCH = Symbol("passBatch");
const ISSUE = Symbol("issue");
const COLLECTED = Symbol("collected");
const PIPELINE_CLASS = Symbol("pipelineClass");
const PORT = Symbol("port");
const IS_PLAIN = Symbol("isPlain");
const LIMITER = Symbol("limiter");
const VIEW_PROTOTYPE = Symbol("viewPrototype");

/** The methods of the command table, attached when the module is loaded. */
export interface ClientBase<Mode extends ReplyMappingMode = "legacy"> extends ClientCommands<Mode> {}

export abstract class ClientBase<Mode extends ReplyMappingMode = "legacy">
  extends EventEmitter
  implements Commander, PipelineHost
{
  abstract readonly isCluster: boolean;
  abstract readonly options: ClientOptions;
  /** Scripts by name. */
  readonly scriptsSet: Record<string, Script> = {};
  /** Names given to `addBuiltinCommand`. */
  readonly addedBuiltinSet = new Set<string>();

  abstract readonly [CHAIN]: Dispatcher;
  abstract readonly [BOTTOM]: Dispatcher;
  abstract readonly [LIMITS]: LimitContext;

  /** Commands taken by `sendCommand` while a batch passes through it; null otherwise. */
  private [COLLECTED]: Command[] | null = null;
  private [PIPELINE_CLASS]: typeof Pipeline = Pipeline;
  /** No option asks for anything to be done to each command. */
  private [IS_PLAIN] = true;
  private [LIMITER]: Limiter | null = null;
  private [VIEW_PROTOTYPE]: this | null = null;
  private [PORT]: PipelinePort = this.makePort();

  [OBSERVE]?(size: number): BatchObserver | null;

  [INSPECT](_depth: number, ...rest: InspectArguments): string {
    return showClient(this, ...rest);
  }

  /** Called by constructors of subclasses, once `options` is set. */
  protected initialize(): void {
    const { options } = this;
    const limiter = new Limiter(options, this[LIMITS]);
    if (!limiter.isIdle) this[LIMITER] = limiter;
    this[IS_PLAIN] = !options.showFriendlyErrorStack && limiter.isIdle;
    for (const [name, definition] of Object.entries(options.scripts ?? {})) {
      this.defineCommand(name, definition);
    }
  }

  // --- commands ----------------------------------------------------------------------------

  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): Promise<unknown> {
    const callback = takeCallback(args);
    const completion = new PromiseCompletion();
    let outcome = completion.promise;
    try {
      const command = makeCommand(spec, args, wantsBuffers, completion);
      outcome = this[ISSUE](applyPrefix(command, this.options.keyPrefix));
    } catch (error) {
      completion.refuse(toError(error));
    }
    return callback === null ? outcome : asCallback(outcome, callback);
  }

  /** Sends any command by its name, which goes out as given. */
  call(...args: CallWithCallback): Promise<unknown>;
  call(command: string, ...args: OneOrMany<RedisValue>[]): Promise<unknown>;
  call(name: CommandName, ...args: unknown[]): Promise<unknown> {
    return this.callByName(name, args, false);
  }

  /** As `call`; strings of the reply are Buffers. */
  callBuffer(...args: CallWithCallback): Promise<unknown>;
  callBuffer(command: string, ...args: OneOrMany<RedisValue>[]): Promise<unknown>;
  callBuffer(name: CommandName, ...args: unknown[]): Promise<unknown> {
    return this.callByName(name, args, true);
  }

  /** Alias of `call`. */
  send_command(name: string, ...args: unknown[]): Promise<unknown> {
    return this.callByName(name, args, false);
  }

  /**
   * Hands a command to the server. Every command passes through here once when this method has
   * been replaced (tracers do that); while it is the built-in one, commands take the direct way.
   */
  sendCommand(command: Command): Promise<unknown> {
    checkByHand(command);
    if (this[COLLECTED] !== null) this[COLLECTED].push(command);
    else if (command instanceof LegacyCommand) {
      this[LIMITER]?.limit(command);
      if (!command.isSettled) refusingLate(command, () => void this.dispatchDirectly(command));
    } else if (!command.isSettled) refusingLate(command, () => this[CHAIN].dispatch(command));
    return command.promise;
  }

  /**
   * A light view of this client: the same methods, pipelines and transactions, over the same
   * connection; what is called through it has these limits over its whole life, queues included.
   *
   * @example
   * const value = await redis.with({ timeout: 500, retry: "at-most-once" }).get("key");
   */
  with(limits: CallLimits): this {
    this[VIEW_PROTOTYPE] ??= makeViewPrototype(this);
    const view = Object.create(this[VIEW_PROTOTYPE]) as this;
    view[IS_PLAIN] = false;
    view[COLLECTED] = null;
    view[LIMITER] = new Limiter(this.options, this[LIMITS], { ...this[LIMITER]?.call, ...limits });
    view[PORT] = view.makePort();
    return view;
  }

  // --- batches -----------------------------------------------------------------------------

  /** A pipeline, empty or filled from `[[name, ...args, callback?], ...]`. */
  pipeline(): ChainableCommander<MappingOf<Mode>, Known<[]>>;
  pipeline(commands?: CommandList): ChainableCommander<MappingOf<Mode>>;
  pipeline(commands?: CommandList): unknown {
    return this.makePipeline(commands);
  }

  /**
   * A transaction: collected and sent with `exec()`, or with `{ pipeline: false }` opened at
   * once on the connection and closed with the client's own `exec()`.
   */
  multi(options: { pipeline: false }): Promise<"OK">;
  multi(commands: CommandList, options: { pipeline: false }): Promise<"OK">;
  multi(): ChainableCommander<MappingOf<Mode>, Known<[]>>;
  multi(options: { pipeline: true }): ChainableCommander<MappingOf<Mode>, Known<[]>>;
  multi(commands?: CommandList): ChainableCommander<MappingOf<Mode>>;
  multi(commands?: CommandList | { pipeline?: boolean }, options?: { pipeline?: boolean }): unknown {
    const settings = Array.isArray(commands) ? options : (commands as { pipeline?: boolean });
    if (settings?.pipeline === false) return this.openTransaction();
    return this.makePipeline(Array.isArray(commands) ? (commands as CommandList) : undefined, true);
  }

  /** Runs the transaction opened by `multi({ pipeline: false })`. */
  exec(callback?: Callback<ReplyRows | null>): Promise<ReplyRows | null> {
    const outcome = this[EXECUTE](specOf("exec"), [], false) as Promise<Parameters<typeof wrapExecReply>[0]>;
    return asMappedCallback(outcome, (reply) => wrapExecReply(reply) as ReplyRows | null, callback);
  }

  // --- scanning ----------------------------------------------------------------------------

  /** Members of a set as a Readable; chunks are arrays. */
  sscanStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return new ScanStream({ ...options, command: "sscan", key, redis: this });
  }

  sscanBufferStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return new ScanStream({ ...options, command: "sscanBuffer", key, redis: this });
  }

  /** Fields and values of a hash as a Readable; chunks are flat arrays. */
  hscanStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return new ScanStream({ ...options, command: "hscan", key, redis: this });
  }

  hscanBufferStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return new ScanStream({ ...options, command: "hscanBuffer", key, redis: this });
  }

  /** Members and scores of a sorted set as a Readable; chunks are flat arrays. */
  zscanStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return new ScanStream({ ...options, command: "zscan", key, redis: this });
  }

  zscanBufferStream(key: string | Buffer, options?: ScanStreamOptions): ScanStream {
    return new ScanStream({ ...options, command: "zscanBuffer", key, redis: this });
  }

  /**
   * Sends any number of commands in batches, never holding more than a window of them. Iterate
   * it for the rows, or ask for its `summary()`; it starts then.
   *
   * @example
   * const { succeeded } = await redis.bulk([["set", "a", 1], ["incr", "a"]]).summary();
   */
  bulk(source: Iterable<BulkCommand> | AsyncIterable<BulkCommand>, options?: BulkOptions): Bulk {
    const open = (keepsRows: boolean) => new BulkBatch(this, this[PORT], this[PIPELINE_CLASS], keepsRows);
    return new Bulk(source, open, options);
  }

  // --- extension ---------------------------------------------------------------------------

  /** Names of the built-in commands, in lower case. */
  getBuiltinCommands(): string[] {
    return [...commandNames()];
  }

  /** Adds `this[name]` and `this[name + "Buffer"]` for a command that the table does not know. */
  addBuiltinCommand(name: string): void {
    this.addedBuiltinSet.add(name);
    const target = this.ownPipelineClass().prototype;
    for (const [method, wantsBuffers] of bothForms(name)) {
      const execute = commandMethod(specOf(name), wantsBuffers);
      attachOwn(this, method, execute);
      attachMethod(target, method, execute);
    }
  }

  /** Two functions that send the command with `this` as client, never auto-pipelined. */
  createBuiltinCommand(name: string): { string: AnyMethod; buffer: AnyMethod } {
    const make = (wantsBuffers: boolean): AnyMethod =>
      makeMethod<ClientBase>(
        ({ options }, args, completion) =>
          applyPrefix(makeCommand(specOf(name), args, wantsBuffers, completion), options.keyPrefix),
        (client, command) => client.dispatchDirectly(command),
      );
    return { string: make(false), buffer: make(true) };
  }

  /** Gives a Lua script a name: `this[name]` and `this[name + "Buffer"]` run it. */
  defineCommand(name: string, definition: ScriptDefinition): void {
    const script = new Script(definition, this.options.keyPrefix);
    attachOwn(this.scriptsSet, name, script);
    const target = this.ownPipelineClass().prototype;
    for (const [method, wantsBuffers] of bothForms(name)) {
      attachOwn(this, method, this.scriptMethod(script, wantsBuffers));
      attachMethod(target, method, scriptInPipeline(script, wantsBuffers));
    }
  }

  // --- inside ------------------------------------------------------------------------------

  private callByName(name: CommandName, args: unknown[], wantsBuffers: boolean): Promise<unknown> {
    if (typeof name === "string") return this[EXECUTE](specOf(name), args, wantsBuffers);
    if (Array.isArray(name) && typeof name[0] === "string")
      return this.callByName(name[0], [...name.slice(1), ...args], wantsBuffers);
    return asCallback(Promise.reject(nameError()), takeCallback(args) ?? undefined);
  }

  private [ISSUE](command: Command): Promise<unknown> {
    keepScope(command);
    if (!this[IS_PLAIN]) {
      if (this.options.showFriendlyErrorStack) captureCallSite(command);
      this[LIMITER]?.limit(command);
      if (command.isSettled) return command.promise;
    }
    if (this.sendCommand !== ClientBase.prototype.sendCommand) {
      return outcomeOf(command, this.sendCommand(command));
    }
    this[CHAIN].dispatch(command);
    return command.promise;
  }

  private sendBatch(commands: readonly Command[]): void {
    keepScope(commands);
    const limiter = this[LIMITER];
    if (limiter !== null) {
      for (const command of commands) limiter.limit(command);
      // Nothing goes out when the signal of the view is aborted already.
      if (commands.every((command) => command.isSettled)) return;
    }
    this[PASS_BATCH](commands);
  }

  /** Hands a batch on, each command through `sendCommand` if that has been replaced. */
  [PASS_BATCH](commands: readonly Command[]): void {
    if (this.sendCommand === ClientBase.prototype.sendCommand) {
      this[CHAIN].dispatchBatch(commands);
      return;
    }
    const collected: Command[] = [];
    this[COLLECTED] = collected;
    try {
      for (const command of commands) passThrough(command, (one) => this.sendCommand(one));
    } finally {
      this[COLLECTED] = null;
    }
    this[CHAIN].dispatchBatch(collected);
  }

  /** Past the auto-pipeliner, behind what it has gathered. */
  private dispatchDirectly(command: Command): Promise<unknown> {
    this[CHAIN].dispatchBatch([command]);
    return command.promise;
  }

  private makePipeline(commands?: CommandList, isTransaction = false): Pipeline {
    const pipeline = new this[PIPELINE_CLASS](this, this[PORT], isTransaction);
    return commands === undefined ? pipeline : pipeline.addBatch(commands);
  }

  private makePort(): PipelinePort {
    return {
      sendBatch: (commands) => this.sendBatch(commands),
      sendCalls: (calls) => this.isUnwatched && this[CHAIN].dispatchCalls?.(calls) === true,
      preparation: () => (this.options.showFriendlyErrorStack ? captureCallSite : null),
      observe: (size) => this[OBSERVE]?.(size) ?? null,
    };
  }

  /** Neither limits nor a replaced `sendCommand` want to see each command. */
  private get isUnwatched(): boolean {
    return this[LIMITER] === null && this.sendCommand === ClientBase.prototype.sendCommand;
  }

  private openTransaction(): Promise<unknown> {
    return this[EXECUTE](specOf("multi"), [], false);
  }

  private scriptMethod(script: Script, wantsBuffers: boolean): AnyMethod {
    return makeMethod<ClientBase>(
      (_client, args, completion) => script.makeCommand(args, wantsBuffers, completion),
      (client, command) => client[ISSUE](command),
    );
  }

  /** The pipeline class of this client alone; a fresh one each time its methods change. */
  private ownPipelineClass(): typeof Pipeline {
    const Parent = this[PIPELINE_CLASS];
    this[PIPELINE_CLASS] = class extends Parent {};
    Object.defineProperty(this[PIPELINE_CLASS], "name", { value: "Pipeline" });
    return this[PIPELINE_CLASS];
  }
}

function scriptInPipeline(
  script: Script,
  wantsBuffers: boolean,
): (this: Pipeline, ...args: unknown[]) => Pipeline {
  return function (...args) {
    this[RUN].queueScript(script, args, wantsBuffers);
    return this;
  };
}

attachCommands(ClientBase.prototype);
