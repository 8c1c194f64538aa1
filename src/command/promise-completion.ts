/**
 * The completion of a single command: the promise of its caller. It counts the outcome for its client, as a
 * whole pipeline does at its end; `stats()` reads the counters.
 */

import type { Reply } from "../protocol/resp-types";
import type { Command, Completion } from "./command";

/** The most error codes that are counted separately; error replies of scripts may begin with any word. */
const MOST_CODES = 64;
const OTHER = "OTHER";

/** Receives the outcome of single calls. A tracer replaces the client's listener with its own. */
export interface CallListener {
  onFulfilled(): void;
  onFailed(error: Error): void;
}

export const CALLS: unique symbol = Symbol("callCounts");

export class CallCounts implements CallListener {
  /** Calls that became commands, including those of pipelines and transactions. */
  issued = 0;
  fulfilled = 0;
  failed = 0;
  /** Failures by the first word of the error reply, or by the code of the client's own error. */
  readonly errors = new Map<string, number>();

  onFulfilled(): void {
    this.fulfilled++;
  }

  onFailed(error: Error): void {
    this.failed++;
    let code = errorCode(error);
    if (!this.errors.has(code) && this.errors.size >= MOST_CODES) code = OTHER;
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }
}

/** The listener of commands without a caller. */
const UNCOUNTED: CallListener = { onFulfilled() {}, onFailed() {} };

/** The first word of an error reply (`WRONGTYPE`), the code of another error, or else its name. */
export function errorCode(error: Error & { code?: unknown }): string {
  // Compared by name, because a bundled program may contain several copies of the class.
  if (error.name === "ReplyError") return /^[A-Z][A-Z0-9_]*(?=\s|$)/.exec(error.message)?.[0] ?? "ERR";
  return typeof error.code === "string" ? error.code : error.name;
}

export class PromiseCompletion implements Completion {
  readonly promise: Promise<unknown>;
  private settle!: (value: unknown) => void;
  /** Rejects the promise: also used for calls that never became a command. */
  refuse!: (error: Error) => void;

  /** @param callCounts Counts the outcome for its client. */
  constructor(public callCounts: CallListener = UNCOUNTED) {
    this.promise = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.refuse = reject;
    });
  }

  fulfil(_command: Command, value: Reply): void {
    this.callCounts.onFulfilled();
    this.settle(value);
  }

  reject(_command: Command, error: Error): void {
    this.callCounts.onFailed(error);
    this.refuse(error);
  }
}
