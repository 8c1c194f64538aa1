/**
 * Time that passes only when everything due has been done: timers, turns of the event loop and
 * clocks of this process, ordered by due time and, where that is equal, by their creation. Ticks and
 * promises stay those of the engine, which run in a fixed order. Install it before the client is
 * loaded: the client takes its timers then.
 */

import { performance as processPerformance } from "node:perf_hooks";

type Work = (...args: unknown[]) => void;

const realImmediate = globalThis.setImmediate;

/** The handle that `setTimeout`, `setInterval` and `setImmediate` return. */
class VirtualTimer {
  position = -1;
  order = 0;
  isReferenced = true;

  constructor(
    private readonly time: VirtualTime,
    public dueMs: number,
    readonly work: Work,
    readonly args: unknown[],
    readonly everyMs: number,
    public delayMs: number,
  ) {}

  ref(): this {
    this.isReferenced = true;
    return this;
  }

  unref(): this {
    this.isReferenced = false;
    return this;
  }

  hasRef(): boolean {
    return this.isReferenced;
  }

  refresh(): this {
    this.time.cancel(this);
    this.time.plan(this, this.delayMs);
    return this;
  }

  close(): this {
    this.time.cancel(this);
    return this;
  }

  isBefore(other: VirtualTimer): boolean {
    return this.dueMs < other.dueMs || (this.dueMs === other.dueMs && this.order < other.order);
  }

  [Symbol.toPrimitive](): number {
    return this.order;
  }
}

export class VirtualTime {
  nowMs = 1_000_000;
  /** Timers that have run. */
  steps = 0;
  private order = 0;
  /** A heap: the next timer is the first. */
  private readonly heap: VirtualTimer[] = [];

  get pending(): number {
    return this.heap.length;
  }

  /** A new beginning, without any timer. */
  reset(): void {
    for (const timer of this.heap.splice(0)) timer.position = -1;
    this.nowMs = 1_000_000;
    this.steps = 0;
    this.order = 0;
  }

  /** Puts this time in the place of the process's own. Returns the way back. */
  install(): () => void {
    const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = globalThis;
    const present = { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
    const now = Date.now;
    const { cpuUsage } = process;
    // How much the process computes meanwhile has nothing to do with this time.
    process.cpuUsage = () => ({ user: Number.NaN, system: Number.NaN });
    const start = (work: Work, delayMs?: number, ...args: unknown[]): VirtualTimer =>
      this.start(work, delayMs ?? 0, args, 0);
    const repeat = (work: Work, delayMs?: number, ...args: unknown[]): VirtualTimer =>
      this.start(work, delayMs ?? 0, args, Math.max(1, delayMs ?? 1));
    const stop = (timer?: VirtualTimer): void => {
      if (timer instanceof VirtualTimer) this.cancel(timer);
    };
    Object.assign(globalThis, {
      setTimeout: start,
      setInterval: repeat,
      setImmediate: (work: Work, ...args: unknown[]) => this.start(work, -1, args, 0),
      clearTimeout: stop,
      clearInterval: stop,
      clearImmediate: stop,
    });
    Object.defineProperty(processPerformance, "now", { value: () => this.nowMs, configurable: true });
    const dateMs = (): number => 1_700_000_000_000 + Math.floor(this.nowMs);
    Object.defineProperty(Date, "now", { value: dateMs, configurable: true, writable: true });
    return () => {
      Object.assign(globalThis, present);
      Reflect.deleteProperty(processPerformance, "now");
      Date.now = now;
      process.cpuUsage = cpuUsage;
    };
  }

  after(delayMs: number, work: () => void): VirtualTimer {
    return this.start(work, delayMs, [], 0);
  }

  plan(timer: VirtualTimer, delayMs: number): void {
    // An immediate is due in this very moment, a timer one millisecond later at the earliest.
    const wait = delayMs < 0 ? 0 : Math.max(1, Number.isFinite(delayMs) ? delayMs : 1);
    timer.dueMs = this.nowMs + wait;
    timer.order = ++this.order;
    this.heap.push(timer);
    timer.position = this.heap.length - 1;
    this.rise(timer.position);
  }

  cancel(timer: VirtualTimer): void {
    const { position } = timer;
    if (position < 0) return;
    timer.position = -1;
    const last = this.heap.pop() as VirtualTimer;
    if (last === timer) return;
    this.heap[position] = last;
    last.position = position;
    this.sink(position);
    this.rise(last.position);
  }

  /** Runs what is due, one after the other, until `isOver`, or nothing is left, or the time is up. */
  async run(isOver: () => boolean, limitMs: number): Promise<void> {
    const endMs = this.nowMs + limitMs;
    await turn();
    while (!isOver()) {
      const timer = this.heap[0];
      if (timer === undefined || timer.dueMs > endMs) return;
      this.cancel(timer);
      this.nowMs = Math.max(this.nowMs, timer.dueMs);
      this.steps++;
      if (timer.everyMs > 0) this.plan(timer, timer.everyMs);
      timer.work(...timer.args);
      await turn();
    }
  }

  private start(work: Work, delayMs: number, args: unknown[], everyMs: number): VirtualTimer {
    const timer = new VirtualTimer(this, 0, work, args, everyMs, delayMs);
    this.plan(timer, delayMs);
    return timer;
  }

  private rise(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!(this.heap[index] as VirtualTimer).isBefore(this.heap[parent] as VirtualTimer)) return;
      this.swap(index, parent);
      index = parent;
    }
  }

  private sink(from: number): void {
    let index = from;
    for (;;) {
      let least = index;
      for (const child of [2 * index + 1, 2 * index + 2]) {
        const candidate = this.heap[child];
        if (candidate?.isBefore(this.heap[least] as VirtualTimer)) least = child;
      }
      if (least === index) return;
      this.swap(index, least);
      index = least;
    }
  }

  private swap(one: number, other: number): void {
    const [a, b] = [this.heap[one] as VirtualTimer, this.heap[other] as VirtualTimer];
    this.heap[one] = b;
    this.heap[other] = a;
    b.position = one;
    a.position = other;
  }
}

/** Ticks and promises have run. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    realImmediate(resolve);
  });
}
