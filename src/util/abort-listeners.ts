/**
 * Listens to an AbortSignal for any number of calls with one listener. The signal of a request or job is passed
 * to many calls, and the runtime warns of a leak from the eleventh listener on.
 */

import { userClockMs } from "./scheduling";

/** An object with a method needs no closure for each call, which saves memory with very many calls. */
type Listener = (() => void) | { onAbort(nowMs: number): void };

class SharedListener {
  private listeners = new Set<Listener>();
  private readonly onAbort = (): void => {
    const { listeners } = this;
    // A signal is aborted once. Listeners that stop listening now are removed already.
    this.listeners = new Set();
    this.signal.removeEventListener("abort", this.onAbort);
    const nowMs = userClockMs();
    for (const listener of listeners) {
      if (typeof listener === "function") listener();
      else listener.onAbort(nowMs);
    }
  };

  constructor(private readonly signal: AbortSignal) {}

  add(listener: Listener): void {
    if (this.listeners.size === 0) this.signal.addEventListener("abort", this.onAbort);
    this.listeners.add(listener);
  }

  remove(listener: Listener): void {
    if (!this.listeners.delete(listener) || this.listeners.size > 0) return;
    this.signal.removeEventListener("abort", this.onAbort);
  }
}

const shared = new WeakMap<AbortSignal, SharedListener>();

/** Calls the listener when the signal is aborted, in the order in which they were added. */
export function listenToAbort(signal: AbortSignal, listener: Listener): void {
  let one = shared.get(signal);
  if (one === undefined) {
    one = new SharedListener(signal);
    shared.set(signal, one);
  }
  one.add(listener);
}

export function stopListening(signal: AbortSignal, listener: Listener): void {
  shared.get(signal)?.remove(listener);
}
