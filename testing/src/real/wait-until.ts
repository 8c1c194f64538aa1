/** Waits for something that another process does; the only place here that polls. */

import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 25;

export interface WaitOptions {
  readonly timeoutMs: number;
  /** The name of the condition, for the message of the error. */
  readonly what: string;
}

/** Resolves when `condition` is true. A condition that throws is one that is not true yet. */
export async function waitUntil(condition: () => Promise<boolean>, options: WaitOptions): Promise<void> {
  const deadline = Date.now() + options.timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      if (await condition()) return;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (Date.now() >= deadline) {
      throw new Error(`Waited ${options.timeoutMs} ms in vain: ${options.what}`, { cause: lastError });
    }
    await sleep(POLL_MS);
  }
}
