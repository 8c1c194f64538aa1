/**
 * The fields that only few commands carry. Kept out of `Command` so that the ordinary one stays small.
 */

import type { AsyncResource } from "node:async_hooks";
import { dirname } from "node:path";
import { headOf } from "../util/error-hint";
import type { Batch } from "./batch";
import type { Caller } from "./caller";
import { type CommandSpec, LEGACY_SHAPE, type ReplyShape } from "./command-spec";

/** A Lua script that its command stands for; sent by text or by hash as the connection needs it. */
export interface ScriptReference {
  readonly lua: string;
  readonly sha: string;
  readonly byText: CommandSpec;
  readonly bySha: CommandSpec;
  readonly isReadOnly: boolean;
}

/**
 * Which commands go again after the connection was lost between writing them and their reply.
 * Commands that were not written always go again.
 */
export type RetryPolicy = "at-least-once" | "reads-only" | "at-most-once";

/** Something that must be told that a command has settled: a deadline, a signal, a tracer. */
export interface SettleHook {
  onFulfilled(value: unknown): void;
  onFailed(error: Error): void;
}

let inside: string | null = null;

/**
 * Where the code of the client is, as stacks show it: the parent of this directory, or the
 * directory of the bundle. Asked of a stack, because source maps change what stacks show.
 */
function placeOfClient(): string {
  const own = new Error().stack?.split("\n")[1] ?? "";
  const file = /(?:\(|at )([^()]*):\d+:\d+\)?$/.exec(own)?.[1] ?? __filename;
  const directory = dirname(file);
  return directory.endsWith("command") ? dirname(directory) : directory;
}

/** Where a command was called. Holds the stack as the engine captured it: formatting costs more than capturing, and most commands succeed. */
class CallSite {
  declare stack?: string;

  /** Makes it the stack of the command's error. */
  showIn(error: Error): void {
    const frames = (this.stack ?? "").split("\n").slice(1);
    inside ??= placeOfClient();
    const place = inside;
    const callers = frames.filter((line) => !line.includes(place));
    // Bundled into one file with the application, the client cannot be told from it.
    const shown = (callers.length > 0 ? callers : frames).join("\n");
    // Without effect on a frozen error.
    Reflect.defineProperty(error, "stack", {
      value: `${headOf(error)}\n${shown}`,
      writable: true,
      configurable: true,
    });
  }
}

/** The node that a MOVED or an ASK names. */
export interface NamedNode {
  readonly host: string;
  readonly port: number;
  readonly isAsk: boolean;
}

/** The tries of a command on a cluster so far. */
export interface RedirectTrail {
  count: number;
  /** Nodes that it was sent to, oldest first; bounded. */
  readonly nodes: string[];
  /** Where a server said that the next try goes, while the command waits for it. */
  next: NamedNode | null;
  /** The node that answered CLUSTERDOWN to the last try, or lost it repeatedly: the next one goes to another node. */
  avoided: string | null;
  /** The error reply to an ASKING that was sent in front of the command. */
  refusal: Error | null;
}

/** A read whose answer a cache wants to keep, until something changes it. */
export interface TrackedRead {
  /** The connection that it was sent over, if the server tells there about changes; null otherwise. */
  connection: object | null;
  /** The key whose time to live the server is asked for as well; null: none. */
  readonly expiringKey: string | null;
  /** The answer of PTTL: milliseconds, or less than 0 without an expiry. */
  onTimeToLive(ms: number): void;
}

export class CommandExtra {
  /** Replacements set by tracers; null while `Command.resolve`/`reject` are the built-in ones. */
  resolve: ((raw?: unknown) => void) | null = null;
  reject: ((error: Error) => void) | null = null;
  /** Shape of the reply that is on its way through a replaced `resolve`. */
  shape: ReplyShape = LEGACY_SHAPE;
  /** Where it was called, when `showFriendlyErrorStack` asks for it; formatted when it is read. */
  callSite: CallSite | null = null;
  script: ScriptReference | null = null;
  /** The batch that its caller put it into; a cluster takes commands out of their batches. */
  scriptBatch: Batch | null = null;
  /** The transaction opened by hand that it was issued into: stands in for an explicit batch. */
  group: Batch | null = null;
  /** Retry policy of this command when it differs from the client's. */
  retryPolicy: RetryPolicy | null = null;
  /** When it was written, and its place in the order of all that its connection has written. */
  sentAtMs = 0;
  place = 0;
  /** Ends a blocking call at the server when its caller has given up; null for what does not block. */
  recall: (() => void) | null = null;
  /** It was given up as `null` and waits for the server to end it. */
  isRecalled = false;
  /** It was settled while the server may still block on it. */
  isLeftBlocked = false;
  /** Place in an explicit batch, and whether that is inside a transaction; told to who replaced `sendCommand`. */
  pipelineIndex: number | undefined = undefined;
  inTransaction = false;
  /** The outcomes of its earlier tries on a cluster. */
  trail: RedirectTrail | null = null;
  /** It has been reported to tracers, who hear of it once however often it is sent. */
  isTraced = false;
  /** The caller that issued a WATCH, or the command that ends it. */
  caller: Caller | null = null;
  /** Where it was issued, kept while tracers listen: what they hang on that place goes with it. */
  scope: AsyncResource | null = null;
  /** How long its answer may be kept, if its caller has said so; 0: not at all, nor may it come from a cache. */
  cacheTtlMs: number | null = null;
  tracked: TrackedRead | null = null;
  /** `MergedCommands`, if it stands for several (`mergedIn`). */
  merged: object | null = null;
  private hooks: SettleHook[] | null = null;
  private outcome: PromiseWithHandles | null = null;

  /** Made on first reading; for commands whose completion has no promise of its own. */
  get promise(): Promise<unknown> {
    if (this.outcome === null) {
      const outcome = new PromiseWithHandles();
      // The row of the pipeline reports the error; this promise is a second look at it.
      outcome.promise.catch(() => {});
      this.outcome = outcome;
      this.addHook(outcome);
    }
    return this.outcome.promise;
  }

  /** Keeps the present stack for the error of the command. */
  captureCallSite(): void {
    const site = new CallSite();
    Error.captureStackTrace(site, this.captureCallSite);
    this.callSite = site;
  }

  /** Its tries on a cluster are counted from now on. */
  ensureTrail(): RedirectTrail {
    this.trail ??= { count: 0, nodes: [], next: null, avoided: null, refusal: null };
    return this.trail;
  }

  addHook(hook: SettleHook): void {
    if (this.hooks === null) this.hooks = [hook];
    else this.hooks.push(hook);
  }

  onFulfilled(value: unknown): void {
    const hooks = this.hooks;
    if (hooks === null) return;
    this.hooks = null;
    for (const hook of hooks) hook.onFulfilled(value);
  }

  onFailed(error: Error): void {
    if (this.callSite !== null) this.callSite.showIn(error);
    const hooks = this.hooks;
    if (hooks === null) return;
    this.hooks = null;
    for (const hook of hooks) hook.onFailed(error);
  }
}

class PromiseWithHandles implements SettleHook {
  onFulfilled!: (value: unknown) => void;
  onFailed!: (error: Error) => void;
  readonly promise = new Promise<unknown>((resolve, reject) => {
    this.onFulfilled = resolve;
    this.onFailed = reject;
  });
}
