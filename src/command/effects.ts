/**
 * Classifies the effect of a command on the cache of its client: the cache may answer it, it changes keys, it
 * may change anything, or it has no effect. In doubt it may change anything: that costs only cache misses,
 * while the opposite would return stale data.
 */

import type { Argument } from "../protocol/resp-types";
import { CommandFlag, type CommandSpec } from "./command-spec";
import { flagsFor } from "./command-table";
import { firstKeyPosition, KeyWalk, lowerWord, NO_KEYS } from "./key-positions";

export const Effect = {
  /** The cache neither answers it nor is changed by it. */
  None: 0,
  /** A read whose reply depends only on the values of its keys. */
  Cacheable: 1,
  /** Changes the keys among its arguments, and has at least one. */
  Keys: 2,
  /** May change any key, as a script without keys does. */
  Everything: 3,
  /** Ends the tracking on which invalidations depend: RESET, HELLO 2, CLIENT TRACKING, MONITOR. */
  Tracking: 4,
  Multi: 5,
  Exec: 6,
  Discard: 7,
  /** Changes the meaning of keys on this connection, or its user: SELECT, AUTH, HELLO 3. */
  Session: 8,
} as const;
export type Effect = (typeof Effect)[keyof typeof Effect];

/** Reads with a key as first argument that do not depend on time, chance, a cursor or an encoding. */
const CACHEABLE: ReadonlySet<string> = new Set(
  `bitcount bitfield_ro bitpos exists geodist geohash geopos geosearch georadius_ro georadiusbymember_ro get
  getbit getrange hexists hget hgetall hkeys hlen hmget hstrlen hvals lcs lindex llen lpos lrange mget scard
  sdiff sinter sismember smembers smismember strlen substr sunion type xlen xrange xrevrange zcard
  zcount zlexcount zmscore zrange zrangebylex zrangebyscore zrank zrevrange
  zrevrangebylex zrevrangebyscore zrevrank zscore`.split(/\s+/),
);

/** Commands with the write flag that change no key. */
const HARMLESS_WRITES: ReadonlySet<string> = new Set(["publish", "spublish"]);

/** Known commands without keys and without the write flag. All others of that kind have no effect. */
const CONTROLS: ReadonlyMap<string, Effect> = new Map<string, Effect>([
  ["multi", Effect.Multi],
  ["exec", Effect.Exec],
  ["discard", Effect.Discard],
  ["select", Effect.Session],
  ["auth", Effect.Session],
  ["debug", Effect.Everything],
  ["replicaof", Effect.Everything],
  ["slaveof", Effect.Everything],
  ["failover", Effect.Everything],
  ["reset", Effect.Tracking],
  ["monitor", Effect.Tracking],
]);

/** Subcommands of CLUSTER that change the slots or role of this node. */
const CLUSTER_CHANGES: ReadonlySet<string> = new Set(
  "addslots addslotsrange delslots delslotsrange failover flushslot flushslots reset setslot".split(" "),
);

/** The effect of one call. */
export function effectOf(spec: CommandSpec, args: readonly Argument[]): Effect {
  const flags = flagsFor(spec, args);
  if ((flags & CommandFlag.Readonly) !== 0) {
    return CACHEABLE.has(spec.lowerName) ? Effect.Cacheable : Effect.None;
  }
  if ((flags & CommandFlag.Write) !== 0)
    return HARMLESS_WRITES.has(spec.lowerName) ? Effect.None : effectOnKeys(spec, args);
  if ((flags & CommandFlag.Known) !== 0) return effectOfControl(spec, args);
  return spec.keys === NO_KEYS ? Effect.None : effectOnKeys(spec, args);
}

/** The key rule of SORT overlooks a STORE that is a Buffer. */
function effectOnKeys(spec: CommandSpec, args: readonly Argument[]): Effect {
  if (spec.keys.walk === KeyWalk.Sort && args.some(Buffer.isBuffer)) return Effect.Everything;
  return firstKeyPosition(spec, args) < 0 ? Effect.Everything : Effect.Keys;
}

function effectOfControl({ lowerName }: CommandSpec, args: readonly Argument[]): Effect {
  const word = args[0] === undefined ? "" : lowerWord(args[0]);
  switch (lowerName) {
    case "hello":
      return word === "" || word === "3" ? Effect.Session : Effect.Tracking;
    case "client":
      return word === "tracking" ? Effect.Tracking : Effect.None;
    case "cluster":
      return CLUSTER_CHANGES.has(word) ? Effect.Everything : Effect.None;
    default:
      return CONTROLS.get(lowerName) ?? Effect.None;
  }
}
