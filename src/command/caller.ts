/**
 * Tells the users of one client apart, as far as WATCH needs it: the asynchronous context in which
 * WATCH was issued (a request, a job) is marked, and what is issued in it, or in what it starts,
 * belongs to the same user. Nothing is marked before the first WATCH of the process.
 */

import { AsyncLocalStorage } from "node:async_hooks";

export class Caller {
  /** Connections on which it guards keys. */
  guards = 0;

  constructor(
    /** The same user before its new WATCH, or the one that it descends from. */
    public previous: Caller | null,
  ) {}
}

let callers: AsyncLocalStorage<Caller> | null = null;

/** The user that the present context belongs to; undefined for those who have never watched. */
export function presentCaller(): Caller | undefined {
  return callers?.getStore();
}

/** The user that issues a WATCH. One whose guards are over is not told from others that descend from it. */
export function watchingCaller(): Caller {
  callers ??= new AsyncLocalStorage();
  const present = callers.getStore();
  if (present !== undefined && present.guards > 0) return present;
  const caller = new Caller(present ?? null);
  callers.enterWith(caller);
  return caller;
}
