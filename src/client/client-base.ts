/**
 * The common part of `Redis` and `Cluster`: turns calls into commands, pipelines, transactions and scripts.
 * Internal members are keyed by symbols, because scripts with any name can become methods of this class.
 */

import { EventEmitter } from "node:events";
import { type Command, type Completion, MADE_BY_HAND } from "../command/command";
import {
  commandError,
  largeCopies,
  makeCommand,
  nameError,
  prefixKeys,
  prepareArguments,
  recycleArguments,
  refusalByHand,
  refusalOf,
  refuseLooseArguments,
} from "../command/command-factory";
import type { CommandSpec } from "../command/command-spec";
import { commandNames, specOf, stateKeys } from "../command/command-table";
import {
  attachCommands,
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
  ModuleCommandName,
  ModuleReply,
  OneOrMany,
  RedisValue,
  ReplyForms,
  ReplyRows,
} from "../command/generated/signatures";
import { CALLS, CallCounts, PromiseCompletion } from "../command/promise-completion";
import { Script, type ScriptDefinition } from "../command/script";
import { attachFamilies } from "../modules/families";
import { type ClientSummary, hideData, SUMMARY } from "../observability/redact";
import { addToPipeline, defineInPipeline, Pipeline } from "../pipeline/pipeline";
import {
  type BatchFacts,
  type BatchObserver,
  OBSERVE,
  PIPELINE_CLASS,
  type PipelineHost,
  type PipelineObserver,
  SEND_BATCH,
  TRACE_BATCH,
} from "../pipeline/pipeline-run";
import { wrapExecReply } from "../pipeline/transaction";
import { asCallback, asMappedCallback, type Callback, takeCallback } from "../util/callback";
import { lookAtPrototype } from "../util/own-property";
import {
  type Bulk,
  type BulkCommand,
  type BulkOptions,
  makePipeline,
  makeTransaction,
  openBulk,
  type PipelineOptions,
} from "./batches";
import { commandChannel, hooks, keepScope, type TraceSource, tellCall, tracePipeline } from "./client-tracer";
import { COLLECTED, notePlaces, passAlone, passBatch, refusingLate } from "./intercepted";
import {
  type CallLimits,
  type CallSettings,
  isLimited,
  type LimitContext,
  type Limiter,
  type LimitOptions,
  makeViewPrototype,
  timeouts,
} from "./limiting";
import { type BuiltinCommandOptions, checkKeyPlaces } from "./options/builtin-command";
import { observeOptions } from "./options/live-options";
import { refuseReserved } from "./reserved-names";
import type { ClientCommands, CommandList, FormedCommands, MappingOf, ReplyMappingMode } from "./types";

export { CALLS };

export interface ClientOptions extends LimitOptions {
  keyPrefix?: string | Buffer | undefined;
  showFriendlyErrorStack?: boolean | undefined;
  strictArguments?: boolean | undefined;
  scripts?: Record<string, ScriptDefinition> | undefined;
}

type CallWithCallback = [command: string, ...args: OneOrMany<RedisValue>[], callback: Callback<unknown>];
/** At run time the whole command may be one array. */
type CommandName = string | readonly unknown[];
type AnyMethod = (...args: unknown[]) => unknown;

export const CHAIN: unique symbol = Symbol("chain");
export const LIMITS: unique symbol = Symbol("limits");
export const PASS_BATCH: unique symbol = Symbol("passBatch");
/** From now on the commands of batches with `merging` are merged. */
export const OPEN_MERGER: unique symbol = Symbol("openMerger");
export const INITIALIZE: unique symbol = Symbol("initialize");
/** Whether `sendCommand` has been replaced. */
export const IS_INTERCEPTED: unique symbol = Symbol("isIntercepted");
export const SOURCE: unique symbol = Symbol("source");
/** The key of the method that lends a connection to the node of a slot. */
export const LEND: unique symbol = Symbol("lend");
const ISSUE: unique symbol = Symbol("issue");
const METHODS: unique symbol = Symbol("methods");
const IS_PLAIN: unique symbol = Symbol("isPlain");
const LIMITER: unique symbol = Symbol("limiter");
const VIEW_PROTOTYPE: unique symbol = Symbol("viewPrototype");

const LIMIT_OPTIONS = ["commandTimeout", "blockingTimeout", "showFriendlyErrorStack"];

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

  abstract readonly [SOURCE]: TraceSource;
  abstract [SUMMARY](): ClientSummary;
  abstract readonly [CHAIN]: Dispatcher;
  abstract readonly [LIMITS]: LimitContext;

  [COLLECTED]: Command[] | null = null;
  /** The pipeline class with the scripts and added commands of this client; null until it is needed. */
  private readonly [METHODS]: { current: typeof Pipeline | null } = { current: Pipeline };
  /** No option requires work for each command. */
  private [IS_PLAIN] = true;
  private [LIMITER]: Limiter | null = null;
  private [VIEW_PROTOTYPE]: this | null = null;
  readonly [CALLS] = new CallCounts();

  constructor() {
    super();
    lookAtPrototype();
  }

  [OBSERVE]?(size: number): BatchObserver | null;
  /** Absent in a cluster, whose nodes merge. */
  [OPEN_MERGER]?(): void;

  /** Called by constructors of subclasses, once `options` is set. */
  [INITIALIZE](): void {
    const { options } = this;
    const heed = (): void => {
      this[LIMITER] = isLimited(options) ? new (timeouts.get().Limiter)(options, this[LIMITS], {}) : null;
      this[IS_PLAIN] = !options.showFriendlyErrorStack && this[LIMITER] === null;
    };
    heed();
    observeOptions(options, LIMIT_OPTIONS, heed);
    for (const [name, definition] of Object.entries(options.scripts ?? {})) {
      this.defineCommand(name, definition);
    }
  }

  [EXECUTE](spec: CommandSpec, args: unknown[], wantsBuffers: boolean): Promise<unknown> {
    const callback = typeof args[args.length - 1] === "function" ? takeCallback(args) : null;
    const completion = new PromiseCompletion(this[CALLS]);
    let outcome = completion.promise;
    try {
      if (this.options.strictArguments === true) refuseLooseArguments(spec, args);
      const command = makeCommand(spec, prepareArguments(spec, args), wantsBuffers, completion);
      if (largeCopies.wereMade && !this[IS_INTERCEPTED]) recycleArguments(command);
      const { keyPrefix } = this.options;
      if (keyPrefix) prefixKeys(spec, command.args, keyPrefix);
      outcome = this[ISSUE](command, completion);
    } catch (error) {
      completion.refuse(refusalOf(error, spec.name));
    }
    return callback === null ? outcome : asCallback(outcome, callback);
  }

  /** Sends any command by its name, which is sent as given. */
  call<Name extends ModuleCommandName>(
    command: Name,
    ...args: OneOrMany<RedisValue>[]
  ): Promise<ModuleReply<Name, MappingOf<Mode>>>;
  call(...args: CallWithCallback): Promise<unknown>;
  call(command: string, callback?: Callback<unknown>): Promise<unknown>;
  call(command: string, args: readonly RedisValue[], callback?: Callback<unknown>): Promise<unknown>;
  call(command: string, ...args: OneOrMany<RedisValue>[]): Promise<unknown>;
  call(name: CommandName, ...args: unknown[]): Promise<unknown> {
    return callByName(this, name, args, false);
  }

  /** Like `call`; strings of the reply are Buffers. */
  callBuffer(...args: CallWithCallback): Promise<unknown>;
  callBuffer(command: string, callback?: Callback<unknown>): Promise<unknown>;
  callBuffer(command: string, args: readonly RedisValue[], callback?: Callback<unknown>): Promise<unknown>;
  callBuffer(command: string, ...args: OneOrMany<RedisValue>[]): Promise<unknown>;
  callBuffer(name: CommandName, ...args: unknown[]): Promise<unknown> {
    return callByName(this, name, args, true);
  }

  /** Alias of `call`. */
  send_command(name: string, ...args: unknown[]): Promise<unknown> {
    return callByName(this, name, args, false);
  }

  /**
   * Sends a command. If a tracer or an application has replaced this method, every command passes through the
   * replacement once. Otherwise, the methods of the client bypass it.
   *
   * @param stream Accepted, with `node`, for wrappers that pass on their arguments. Both have no effect.
   */
  sendCommand(command: Command, stream?: unknown, node?: unknown): Promise<unknown>;
  sendCommand(command: Command): Promise<unknown> {
    if (typeof command?.fail !== "function") return Promise.reject(commandError());
    if (!command.isSettled) {
      const refusal = refusalByHand(command);
      if (refusal !== null) command.fail(refusal);
    }
    if (this[COLLECTED] !== null) this[COLLECTED].push(command);
    else if (command[MADE_BY_HAND]) {
      this[LIMITER]?.limit(command);
      if (!command.isSettled) refusingLate(command, () => void dispatchDirectly(this, command));
    } else if (!command.isSettled) refusingLate(command, () => this[CHAIN].dispatch(command));
    return command.promise;
  }

  /**
   * A lightweight view of this client with the same methods, pipelines and transactions, on the same connection.
   * These limits apply to each call through it, including queues. `replies` sets the JavaScript types of the replies.
   *
   * @example
   * const value = await redis.with({ timeout: 500, retry: "at-most-once" }).get("key");
   * const total = await redis.with({ replies: { number: "bigint" } }).incrby("total", 1); // 1n
   */
  with<Forms extends ReplyForms>(
    limits: CallLimits & { replies: Forms },
  ): FormedCommands<MappingOf<Mode>, Forms>;
  with(limits: CallLimits): this;
  with(limits: CallSettings): unknown {
    const { Limiter } = timeouts.get();
    this[VIEW_PROTOTYPE] ??= makeViewPrototype(this);
    const view = Object.create(this[VIEW_PROTOTYPE]) as this;
    view[IS_PLAIN] = false;
    view[COLLECTED] = null;
    view[LIMITER] = new Limiter(this.options, this[LIMITS], limits, this[LIMITER]?.call);
    return view;
  }

  /**
   * Collects commands. `exec()` sends them in one round trip and resolves with a row for each, `[null, reply]` or
   * `[error]`. With `merge`, adjacent commands are merged into one if their replies can be separated again. Throws
   * an `OptionError` for a command that cannot be merged.
   * @example
   * const rows = await redis.pipeline().set("a", "1").get("a").exec(); // [[null, "OK"], [null, "1"]]
   */
  pipeline(options?: PipelineOptions): ChainableCommander<MappingOf<Mode>, Known<[]>>;
  /** Collects the given commands, `[[name, ...args, callback?], ...]`. `exec()` sends them in one round trip. */
  pipeline(commands?: CommandList, options?: PipelineOptions): ChainableCommander<MappingOf<Mode>>;
  pipeline(commands?: CommandList | PipelineOptions, options?: PipelineOptions): unknown {
    return makePipeline(this, commands, options);
  }

  /**
   * Collects the commands of a transaction, which the server runs without other commands in between. `exec()` sends
   * them in one round trip and resolves with their rows, or with null if a watched key has changed.
   * @example
   * const rows = await redis.multi().set("stock", 5).decr("stock").exec(); // [[null, "OK"], [null, 4]]
   */
  multi(): ChainableCommander<MappingOf<Mode>, Known<[]>>;
  multi(options: { pipeline: true }): ChainableCommander<MappingOf<Mode>, Known<[]>>;
  /** Sends MULTI immediately. Later commands of the client are queued by the server, and `exec()` runs them. */
  multi(options: { pipeline: false }): Promise<"OK">;
  multi(commands: CommandList, options: { pipeline: false }): Promise<"OK">;
  /** Collects the given commands of a transaction, `[[name, ...args, callback?], ...]`. */
  multi(commands?: CommandList): ChainableCommander<MappingOf<Mode>>;
  multi(commands?: CommandList | { pipeline?: boolean }, options?: { pipeline?: boolean }): unknown {
    const settings = Array.isArray(commands) ? options : (commands as { pipeline?: boolean });
    if (settings?.pipeline === false) return this[EXECUTE](specOf("multi"), [], false);
    const list = Array.isArray(commands) ? (commands as CommandList) : undefined;
    return makeTransaction(this, list);
  }

  /** Runs the transaction opened by `multi({ pipeline: false })`. */
  exec(callback?: Callback<ReplyRows | null>): Promise<ReplyRows | null> {
    const outcome = this[EXECUTE](specOf("exec"), [], false) as Promise<Parameters<typeof wrapExecReply>[0]>;
    return asMappedCallback(outcome, (reply) => wrapExecReply(reply) as ReplyRows | null, callback);
  }

  /**
   * Sends any number of commands in batches, with constant memory. To start it, iterate over its rows or call
   * `summary()`. See docs/bulk.md.
   * @example
   * const { succeeded } = await redis.bulk([["set", "a", 1], ["incr", "a"]]).summary();
   */
  bulk(source: Iterable<BulkCommand> | AsyncIterable<BulkCommand>, options?: BulkOptions): Bulk {
    return openBulk(this, this[SOURCE], source, options);
  }

  /** Names of the built-in commands, in lower case. */
  getBuiltinCommands(): string[] {
    return [...commandNames];
  }

  /**
   * Adds `this[name]` and `this[name + "Buffer"]` for a command that the table does not know. With `keys`, a cluster
   * sends it to the node of its first key, and `keyPrefix` applies, also for `call`. This affects all clients of the
   * process.
   *
   * @example
   * redis.addBuiltinCommand("cell.throttle", { keys: { first: 1 } });
   */
  addBuiltinCommand(name: string, options?: BuiltinCommandOptions): void {
    refuseReserved(name);
    if (options?.keys !== undefined) stateKeys(name, checkKeyPlaces(options.keys));
    this.addedBuiltinSet.add(name);
    for (const [method, wantsBuffers] of bothForms(name)) {
      attachOwn(this, method, commandMethod(specOf(name), wantsBuffers));
    }
    this[METHODS].current = null;
  }

  /** Two functions that send the command with `this` as the client, never auto-pipelined. */
  createBuiltinCommand(name: string): { string: AnyMethod; buffer: AnyMethod } {
    const make = (wantsBuffers: boolean): AnyMethod =>
      makeMethod(
        name,
        ({ options }, args, completion) => {
          const spec = specOf(name);
          const prepared = prepareArguments(spec, args);
          prefixKeys(spec, prepared, options.keyPrefix);
          return makeCommand(spec, prepared, wantsBuffers, completion);
        },
        dispatchDirectly,
      );
    return { string: make(false), buffer: make(true) };
  }

  /**
   * Defines `this[name]` and `this[name + "Buffer"]`, which run a Lua script. A later script with the same name
   * replaces it. Throws a `ReservedNameError` for a name that the client needs.
   */
  defineCommand(name: string, definition: ScriptDefinition): void {
    refuseReserved(name);
    const script = new Script(definition, this.options.keyPrefix);
    attachOwn(this.scriptsSet, name, script);
    for (const [method, wantsBuffers] of bothForms(name)) {
      attachOwn(this, method, scriptMethod(script, wantsBuffers));
    }
    this[METHODS].current = null;
  }

  /** The pipeline class of this client. A pipeline keeps the methods that existed when it was created. */
  [PIPELINE_CLASS](): typeof Pipeline {
    this[METHODS].current ??= makePipelineClass(this);
    return this[METHODS].current;
  }

  get [IS_INTERCEPTED](): boolean {
    return this.sendCommand !== ClientBase.prototype.sendCommand;
  }

  private [ISSUE](command: Command, completion: PromiseCompletion): Promise<unknown> {
    this[CALLS].issued++;
    if (hooks.call !== null) tellCall(command, completion, this[SOURCE]);
    if (commandChannel.isHeard) keepScope([command]);
    if (!this[IS_PLAIN]) {
      if (this.options.showFriendlyErrorStack) command.ensureExtra().captureCallSite();
      this[LIMITER]?.limit(command);
      if (command.isSettled) return completion.promise;
    }
    if (this.sendCommand !== ClientBase.prototype.sendCommand) {
      return passAlone(this, command);
    }
    this[CHAIN].dispatch(command);
    return completion.promise;
  }

  [SEND_BATCH](commands: readonly Command[]): void {
    if (commandChannel.isHeard) keepScope(commands);
    const limiter = this[LIMITER];
    if (limiter !== null) {
      for (const command of commands) limiter.limit(command);
      // Sends nothing when the signal of the view is already aborted.
      if (commands.every((command) => command.isSettled)) return;
    }
    if (this[IS_INTERCEPTED]) notePlaces(commands);
    this[PASS_BATCH](commands);
  }

  [TRACE_BATCH](run: BatchFacts): PipelineObserver | null {
    return tracePipeline(run, this[SOURCE]);
  }

  /** Sends a batch, each command through `sendCommand` if that has been replaced. */
  [PASS_BATCH](commands: readonly Command[]): void {
    if (commands[0]?.batch?.merging) this[OPEN_MERGER]?.();
    const isIntercepted = this.sendCommand !== ClientBase.prototype.sendCommand;
    this[CHAIN].dispatchBatch(isIntercepted ? passBatch(this, commands) : commands);
  }
}

function callByName(
  client: ClientBase<ReplyMappingMode>,
  name: CommandName,
  args: unknown[],
  wantsBuffers: boolean,
): Promise<unknown> {
  if (typeof name === "string") return client[EXECUTE](specOf(name), args, wantsBuffers);
  if (Array.isArray(name) && typeof name[0] === "string")
    return callByName(client, name[0], [...name.slice(1), ...args], wantsBuffers);
  return asCallback(Promise.reject(nameError()), takeCallback(args) ?? undefined);
}

/** Bypasses the auto-pipeliner; commands that it has collected are sent first. */
function dispatchDirectly(client: ClientBase<ReplyMappingMode>, command: Command): Promise<unknown> {
  client[CALLS].issued++;
  if (command.completion instanceof PromiseCompletion) command.completion.callCounts = client[CALLS];
  client[CHAIN].dispatchBatch([command]);
  return command.promise;
}

function scriptMethod(script: Script, wantsBuffers: boolean): AnyMethod {
  return makeMethod(
    script.bySha.name,
    (client, args, completion) => {
      if (client.options.strictArguments === true) refuseLooseArguments(script.bySha, args);
      return script.makeCommand(args, wantsBuffers, completion);
    },
    (client, command, completion) => client[ISSUE](command, completion),
  );
}

function makePipelineClass(client: ClientBase<ReplyMappingMode>): typeof Pipeline {
  const OwnPipeline = class extends Pipeline {};
  Object.defineProperty(OwnPipeline, "name", { value: "Pipeline" });
  for (const name of client.addedBuiltinSet) addToPipeline(OwnPipeline.prototype, name);
  for (const [name, script] of Object.entries(client.scriptsSet)) {
    defineInPipeline(OwnPipeline.prototype, name, script);
  }
  return OwnPipeline;
}

/** A method that builds a command from its arguments and sends it; the last argument may be a callback. */
function makeMethod(
  name: string,
  make: (client: ClientBase, args: unknown[], completion: Completion) => Command,
  issue: (client: ClientBase, command: Command, completion: PromiseCompletion) => Promise<unknown>,
): (this: ClientBase, ...args: unknown[]) => Promise<unknown> {
  return function (...args) {
    const callback = takeCallback(args);
    const completion = new PromiseCompletion(this[CALLS]);
    let outcome = completion.promise;
    try {
      outcome = issue(this, make(this, args, completion), completion);
    } catch (error) {
      completion.refuse(refusalOf(error, name));
    }
    return asCallback(outcome, callback ?? undefined);
  };
}

attachCommands(ClientBase.prototype);
attachFamilies(ClientBase.prototype);
attachFamilies(Pipeline.prototype);
hideData(ClientBase.prototype);
