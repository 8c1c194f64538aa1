/**
 * Whether a user may run a command on these keys and channels.
 */

import { matchesGlob } from "../protocol/glob";
import { ErrorReply } from "../protocol/reply";
import { type AclSubject, isIn } from "./acl-categories";
import { Flag } from "./flags";
import type { User } from "./user";

function mayRun(user: User, entry: AclSubject): boolean {
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

function mayUseKey(user: User, entry: AclSubject, key: string): boolean {
  const writes = (entry.flags & Flag.Write) !== 0;
  return user.keyPatterns.some(
    ({ pattern, mayRead, mayWrite }) => (writes ? mayWrite : mayRead) && matchesGlob(pattern, key),
  );
}

/** A pattern to subscribe to must be allowed literally. */
function mayUseChannel(user: User, channel: string, isPattern: boolean): boolean {
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

export function checkAccess(user: User, entry: AclSubject, { args, keys }: AclRequest): void {
  if ((entry.flags & Flag.NoAuth) !== 0) return;
  if (!mayRun(user, entry)) {
    throw new ErrorReply(`NOPERM User ${user.name} has no permissions to run the '${entry.name}' command`);
  }
  for (const key of keys) {
    if (!mayUseKey(user, entry, key)) throw new ErrorReply("NOPERM No permissions to access a key");
  }
  const isPattern = entry.name === "psubscribe";
  for (const channel of channelsOf(entry, args)) {
    if (!mayUseChannel(user, channel, isPattern))
      throw new ErrorReply("NOPERM No permissions to access a channel");
  }
}
