/**
 * Distinguishes the users of one client, as far as WATCH needs it. The async context that issues a WATCH (a
 * request, a job) is marked, and commands issued in it, or in contexts that it starts, belong to the same user.
 * No context is marked before the first WATCH of the process.
 */

import { AsyncLocalStorage } from "node:async_hooks";

export class WatchUser {
  /** The number of connections on which it guards keys. */
  guards = 0;

  constructor(
    /** The same user before its new WATCH, or the user that it descends from. */
    public previous: WatchUser | null,
  ) {}
}

let users: AsyncLocalStorage<WatchUser> | null = null;

/** The user of the current async context; undefined for users that have never watched. */
export function presentUser(): WatchUser | undefined {
  return users?.getStore();
}

/** The user of a WATCH. A new one replaces a user without guards, whose mark the contexts that it started share. */
export function watchingUser(): WatchUser {
  users ??= new AsyncLocalStorage();
  const present = users.getStore();
  if (present !== undefined && present.guards > 0) return present;
  const user = new WatchUser(present ?? null);
  users.enterWith(user);
  return user;
}
