/** The completion of a single command: the promise its caller holds. */

import type { Reply } from "../protocol/resp-types";
import type { Command } from "./command";
import type { Completion } from "./completion";

export class PromiseCompletion implements Completion {
  readonly promise: Promise<unknown>;
  private settle!: (value: unknown) => void;
  /** Rejects the promise: also used for calls that never became a command. */
  refuse!: (error: Error) => void;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.refuse = reject;
    });
  }

  fulfil(_command: Command, value: Reply): void {
    this.settle(value);
  }

  reject(_command: Command, error: Error): void {
    this.refuse(error);
  }
}

/** For commands that the client sends on its own account and whose outcome nobody awaits. */
export const IGNORED: Completion = {
  promise: null,
  fulfil() {},
  reject() {},
};
