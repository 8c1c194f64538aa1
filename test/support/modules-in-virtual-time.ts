/**
 * Loads modules of `src` once more, in a time that passes only when the test says so: the client takes
 * its timers and its clock when it is loaded. The copies that other tests hold stay as they are.
 */

import { sep } from "node:path";
import { VirtualTime } from "../simulation/virtual-time";

const OWN_MODULES = `${sep}build${sep}src${sep}`;

export interface InVirtualTime<T> {
  readonly modules: T;
  readonly time: VirtualTime;
  /**
   * From a beginning without timers, in this time; afterwards the process has its own again. Whatever else lives
   * in the process (a server, a client that an earlier test has left) is in this time as well meanwhile.
   */
  live(work: () => Promise<void>): Promise<void>;
  /** The same for the modules alone, if they take their timers and their clock when they are loaded. */
  liveAlone(work: () => Promise<void>): Promise<void>;
  /** Lets time pass; `look` is called with every step. */
  pass(ms: number, look?: () => void): Promise<void>;
}

export function inVirtualTime<T>(load: () => T): InVirtualTime<T> {
  const time = new VirtualTime();
  const leave = time.install();
  const isOwn = (path: string): boolean => path.includes(OWN_MODULES);
  const before = Object.entries(require.cache).filter(([path]) => isOwn(path));
  const forget = (): void => {
    for (const path of Object.keys(require.cache)) if (isOwn(path)) delete require.cache[path];
  };
  forget();
  try {
    return {
      modules: load(),
      time,
      live: (work) => live(time, work),
      liveAlone: (work) => {
        time.reset();
        return work();
      },
      pass: (...how) => pass(time, ...how),
    };
  } finally {
    leave();
    forget();
    Object.assign(require.cache, Object.fromEntries(before));
  }
}

async function live(time: VirtualTime, work: () => Promise<void>): Promise<void> {
  time.reset();
  const leave = time.install();
  try {
    await work();
  } finally {
    leave();
  }
}

function pass(time: VirtualTime, ms: number, look?: () => void): Promise<void> {
  const endMs = time.nowMs + ms;
  time.after(ms, () => {});
  return time.run(() => {
    look?.();
    return time.nowMs >= endMs;
  }, ms);
}
