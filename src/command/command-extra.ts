/** Fields that only few commands need. Kept out of `Command` so that ordinary commands stay small. */

import type { AsyncResource } from "node:async_hooks";
import { dirname } from "node:path";
import { headOf } from "../util/error-hint";
import type { Batch } from "./batch";
import { type CommandSpec, LEGACY_SHAPE, type ReplyShape } from "./command-spec";
import type { ReplyForm } from "./reply-form";
import type { WatchUser } from "./watch-user";

/** The Lua script that a command runs; sent by text or by hash as the connection needs it. */
export interface ScriptReference {
  readonly lua: string;
  readonly sha: string;
  readonly byText: CommandSpec;
  readonly bySha: CommandSpec;
  readonly isReadOnly: boolean;
}

/** The written commands without a reply that are sent again after a lost connection; unwritten ones always are. */
export type RetryPolicy = "at-least-once" | "reads-only" | "at-most-once";

export const RETRY_POLICIES = ["at-least-once", "reads-only", "at-most-once"] satisfies RetryPolicy[];

/** The kind of server to which a read is sent. */
export type ReadFrom = "primary" | "replica";

/** Notified when a command has settled: a deadline, a signal, a tracer. */
export interface SettleHook {
  /** @param error Null if the command is fulfilled with the value. */
  onSettled(error: Error | null, value?: unknown): void;
}

let inside: string | null = null;

/**
 * The location of the client's code in stack traces: the parent of this directory, or the directory of the
 * bundle. Read from a stack trace, because source maps change the paths in stack traces.
 */
function placeOfClient(): string {
  const own = new Error().stack?.split("\n")[1] ?? "";
  const file = /(?:\(|at )([^()]*):\d+:\d+\)?$/.exec(own)?.[1] ?? __filename;
  const directory = dirname(file);
  return directory.endsWith("command") ? dirname(directory) : directory;
}

/** The unformatted stack of a call: formatting costs more than capturing, and most commands succeed. */
class CallSite {
  declare stack?: string;

  /** Replaces the stack of the command's error. */
  showIn(error: Error): void {
    const frames = (this.stack ?? "").split("\n").slice(1);
    inside ??= placeOfClient();
    const place = inside;
    const callers = frames.filter((line) => !line.includes(place));
    // If client and application are bundled into one file, their frames cannot be distinguished.
    const shown = (callers.length > 0 ? callers : frames).join("\n");
    // Has no effect on a frozen error.
    Reflect.defineProperty(error, "stack", {
      value: `${headOf(error)}\n${shown}`,
      writable: true,
      configurable: true,
    });
  }
}

/** The node that a MOVED or ASK reply names. */
export interface NamedNode {
  readonly host: string;
  readonly port: number;
  readonly isAsk: boolean;
}

/** The attempts of a command on a cluster so far. */
export interface RedirectTrail {
  count: number;
  /** The nodes to which it was sent, oldest first; bounded. */
  readonly nodes: string[];
  /** The node for the next attempt, while the command waits for it. */
  next: NamedNode | null;
  /** The node that the next attempt avoids: it answered CLUSTERDOWN, or lost the command repeatedly. */
  avoided: string | null;
  /** The error reply to an ASKING that preceded the command. */
  askingError: Error | null;
}

/** A read whose reply a cache wants to store until its keys change. */
export interface TrackedRead {
  /** The connection of the read if its server reports changes on it; null otherwise. */
  connection: object | null;
  /** The key whose time to live is also requested; null: none. */
  readonly expiringKey: string | null;
  /** The reply to PTTL: milliseconds, or less than 0 without an expiry. */
  onTimeToLive(ms: number): void;
}

/** The command that is sent in place of one that was merged with others, or the parts of one that was split. */
export interface SentCommand {
  readonly state: number;
  readonly slot: number;
  readonly mayHaveRun: boolean;
  readonly extra: CommandExtra | null;
}

export class CommandExtra {
  /** Replacements set by tracers; null while `Command.resolve`/`reject` are the built-in ones. */
  resolve: ((raw?: unknown) => void) | null = null;
  reject: ((error: Error) => void) | null = null;
  /** The shape of the reply while a replaced `resolve` handles it. */
  shape: ReplyShape = LEGACY_SHAPE;
  /** The call site, if `showFriendlyErrorStack` is set; formatted when it is read. */
  callSite: CallSite | null = null;
  script: ScriptReference | null = null;
  /** The batch of its caller; a cluster takes commands out of their batches. */
  scriptBatch: Batch | null = null;
  /** The transaction opened by hand in which it was issued: used instead of an explicit batch. */
  group: Batch | null = null;
  /** The retry policy of this command if it differs from the client's. */
  retryPolicy: RetryPolicy | null = null;
  /** The time of its write, and its place in the order of all writes of its connection. */
  sentAtMs = 0;
  place = 0;
  /** Ends a blocking call at the server when its caller has given up; null for commands that do not block. */
  recall: (() => void) | null = null;
  /** It timed out with null and waits for the server to end it. */
  isRecalled = false;
  /** It has settled while the server may still block on it. */
  isLeftBlocked = false;
  /** Its place in an explicit batch, and whether that is inside a transaction; for a replaced `sendCommand`. */
  pipelineIndex: number | undefined = undefined;
  inTransaction = false;
  /** The outcomes of its earlier attempts on a cluster. */
  trail: RedirectTrail | null = null;
  /** It has been reported to tracers, which receive each command once even if it is resent. */
  isTraced = false;
  /** The user that issued this command, if it is a WATCH or ends one. */
  watchUser: WatchUser | null = null;
  /** The async scope in which it was issued, kept while tracers listen, so that their context is preserved. */
  scope: AsyncResource | null = null;
  /** How long its reply may be cached; 0: the cache is not used; null: the option of the cache decides. */
  cacheTtlMs: number | null = null;
  tracked: TrackedRead | null = null;
  /** The server that its caller has chosen for a read (`with()`); null: the options decide. */
  readFrom: ReadFrom | null = null;
  /** The forms of its reply that its caller has chosen (`with()`); null: those of the connection. */
  form: ReplyForm | null = null;
  /** The command that is sent in its place; null: it is sent itself. */
  sentAs: SentCommand | null = null;
  private hooks: SettleHook[] | null = null;
  private outcome: Promise<unknown> | null = null;

  /** Created on first access; for commands whose completion has no promise. */
  get promise(): Promise<unknown> {
    if (this.outcome !== null) return this.outcome;
    this.outcome = new Promise((resolve, reject) => {
      this.addHook({ onSettled: (error, value) => (error === null ? resolve(value) : reject(error)) });
    });
    // The row of the pipeline already reports the error, so this promise must not report it as unhandled.
    this.outcome.catch(() => {});
    return this.outcome;
  }

  /** Keeps the current stack for the error of the command. */
  captureCallSite(): void {
    const site = new CallSite();
    Error.captureStackTrace(site, this.captureCallSite);
    this.callSite = site;
  }

  /** Starts to record its attempts on a cluster. */
  ensureTrail(): RedirectTrail {
    this.trail ??= { count: 0, nodes: [], next: null, avoided: null, askingError: null };
    return this.trail;
  }

  addHook(hook: SettleHook): void {
    if (this.hooks === null) this.hooks = [hook];
    else this.hooks.push(hook);
  }

  onSettled(error: Error | null, value?: unknown): void {
    if (error !== null && this.callSite !== null) this.callSite.showIn(error);
    const hooks = this.hooks;
    if (hooks === null) return;
    this.hooks = null;
    for (const hook of hooks) hook.onSettled(error, value);
  }
}
