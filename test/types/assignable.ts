/**
 * Code that takes the original's commands takes ours: every method is assignable, callbacks that
 * may be missing included, but for those in which the original's types contradict the server.
 */

import type { RedisCommander as Theirs } from "ioredis";
import type { RedisCommander as Ours } from "sluice";
import { same } from "./same";

type Different<A, B> = { [K in keyof B]: K extends keyof A ? (A[K] extends B[K] ? never : K) : K }[keyof B];

type OursIsMoreExact =
  // Members of EX, PX ... with IFEQ, IFNE, IFDEQ and IFDNE answer null when the condition does not hold.
  | "set"
  // "RESET", "Background saving started", 1 or 0: not "OK".
  | "reset"
  | "bgsave"
  | "msetnx"
  // A number, a list, a structure: not a list, a string.
  | "pubsub"
  | "client"
  | "clientBuffer"
  | "acl"
  | "aclBuffer"
  | "argrep"
  | "argrepBuffer"
  // "OK" for ADDSLOTS and its like, not the table of slots.
  | "cluster";

/** The tail is free, so that a callback behind it has to be a callback. */
type HasFreeTail = "migrate";

export const differences = same<Different<Ours, Theirs>, OursIsMoreExact | HasFreeTail>();

/** A wrapper passes its own optional callback on. */
export function wrapped(redis: Ours, callback?: (error?: Error | null, result?: unknown) => void) {
  return [
    redis.info(callback),
    redis.eval("return 1", 0, callback),
    redis.geohash("key", callback),
    redis.call("PING", callback),
    redis.call("GET", ["key"], callback),
    redis.unsubscribe(callback),
  ];
}
