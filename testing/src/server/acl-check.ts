/**
 * Whether a user may run a command on these keys and channels.
 */

import { matchesGlob } from "../protocol/glob";
import { ErrorReply } from "../protocol/reply";
import { type AclSubject, isIn } from "./acl-categories";
import type { Denial } from "./acl-log";
import { Flag } from "./flags";
import type { Permissions, User } from "./user";

/** Whether the rules allow a command, regardless of its keys. */
export function mayRun(user: Permissions, entry: AclSubject): boolean {
  let isAllowed = false;
  for (const rule of user.commandRules) {
    const fits =
      rule.category === null
        ? entry.name === rule.command || entry.name.startsWith(`${rule.command}|`)
        : isIn(entry, rule.category);
    if (fits) isAllowed = rule.isAllowed;
  }
  return isAllowed;
}

function mayUseKey(user: Permissions, entry: AclSubject, key: string): boolean {
  const writes = (entry.flags & Flag.Write) !== 0;
  return user.keyPatterns.some(
    ({ pattern, mayRead, mayWrite }) => (writes ? mayWrite : mayRead) && matchesGlob(pattern, key),
  );
}

/** A pattern to subscribe to must be allowed literally. */
function mayUseChannel(user: Permissions, channel: string, isPattern: boolean): boolean {
  return user.channelPatterns.some((pattern) =>
    pattern === "*" || isPattern ? pattern === channel || pattern === "*" : matchesGlob(pattern, channel),
  );
}

const CHANNEL_COMMANDS: Readonly<Record<string, "one" | "all" | "patterns">> = {
  publish: "one",
  spublish: "one",
  subscribe: "all",
  ssubscribe: "all",
  psubscribe: "patterns",
};

function channelsOf(entry: AclSubject, args: readonly string[]): readonly string[] {
  const kind = CHANNEL_COMMANDS[entry.name];
  if (kind === undefined) return [];
  return kind === "one" ? args.slice(1, 2) : args.slice(1);
}

export interface AclRequest {
  readonly args: readonly string[];
  readonly keys: readonly string[];
}

export interface Refused {
  readonly reason: Exclude<Denial, "auth">;
  /** The command, key or channel that is not allowed. */
  readonly object: string;
}

/** A refusal late in the check describes best which permission is missing. */
const WEIGHT: Readonly<Record<Refused["reason"], number>> = { command: 1, key: 2, channel: 3 };

function refusalBy(permissions: Permissions, entry: AclSubject, { args, keys }: AclRequest): Refused | null {
  if (!mayRun(permissions, entry)) return { reason: "command", object: entry.name };
  const channels = channelsOf(entry, args);
  // The argument that routes a shard channel in a cluster is no key.
  const key = channels.length > 0 ? undefined : keys.find((one) => !mayUseKey(permissions, entry, one));
  if (key !== undefined) return { reason: "key", object: key };
  const isPattern = entry.name === "psubscribe";
  const channel = channels.find((one) => !mayUseChannel(permissions, one, isPattern));
  return channel === undefined ? null : { reason: "channel", object: channel };
}

/** Why a user may not run a command; null if it may. */
export function refusalOf(user: User, entry: AclSubject, request: AclRequest): Refused | null {
  if ((entry.flags & Flag.NoAuth) !== 0) return null;
  let worst: Refused | null = null;
  for (const permissions of [user, ...user.selectors]) {
    const refused = refusalBy(permissions, entry, request);
    if (refused === null) return null;
    if (worst === null || WEIGHT[refused.reason] > WEIGHT[worst.reason]) worst = refused;
  }
  return worst;
}

/** The answer to a refused caller. */
export function refusalError(user: User, { reason, object }: Refused): ErrorReply {
  if (reason === "command") {
    return new ErrorReply(`NOPERM User ${user.name} has no permissions to run the '${object}' command`);
  }
  return new ErrorReply(`NOPERM No permissions to access a ${reason}`);
}
