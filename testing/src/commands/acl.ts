/** ACL: users, their rules and permissions, and the log of refusals. ACL files are not supported. */

import { integerOf } from "../protocol/numbers";
import { DoubleReply, ErrorReply, MapReply, OK, type ReplyValue, SetReply } from "../protocol/reply";
import { CATEGORIES, isIn } from "../server/acl-categories";
import { refusalOf } from "../server/acl-check";
import type { LogEntry } from "../server/acl-log";
import { keysOf } from "../server/command-keys";
import type { Caller, CommandEntry, Handlers } from "../server/model";
import type { KeyPattern, Permissions, User } from "../server/user";
import { allCommands, commandText } from "./acl-description";
import { at, word, wrongWords } from "./arguments";
import { sessionOf } from "./connection";

const DEFAULT_LOG_ENTRIES = 10;

function keyText({ pattern, mayRead, mayWrite }: KeyPattern): string {
  if (mayRead && mayWrite) return `~${pattern}`;
  return `%${mayRead ? "R" : "W"}~${pattern}`;
}

/** Keys, channels and commands in the words of SETUSER. */
function permissionWords(caller: Caller, permissions: Permissions): string[] {
  const channels = permissions.channelPatterns.map((pattern) => `&${pattern}`);
  return [
    ...permissions.keyPatterns.map(keyText),
    ...(permissions.channelPatterns.includes("*") ? [] : ["resetchannels"]),
    ...channels,
    commandText(caller, permissions),
  ];
}

function flagWords(user: User): string[] {
  const words = [user.isEnabled ? "on" : "off"];
  if (user.needsNoPassword) words.push("nopass");
  if (user.sanitizing !== "") words.push(user.sanitizing);
  return words;
}

function describe(caller: Caller, user: User): string {
  const words = [`user ${user.name}`, ...flagWords(user)];
  for (const password of user.passwords) words.push(`#${password}`);
  words.push(...permissionWords(caller, user));
  for (const selector of user.selectors) words.push(`(${permissionWords(caller, selector).join(" ")})`);
  return words.join(" ");
}

function permissionPairs(caller: Caller, permissions: Permissions): ReplyValue[] {
  const pairs: ReplyValue[] = [
    "commands",
    commandText(caller, permissions),
    "keys",
    permissions.keyPatterns.map(keyText).join(" "),
    "channels",
    permissions.channelPatterns.map((pattern) => `&${pattern}`).join(" "),
  ];
  if (caller.engine.version.product === "valkey") pairs.push("databases", "alldbs");
  return pairs;
}

function getUser(caller: Caller, args: readonly string[]): ReplyValue {
  const user = caller.engine.acl.users.get(at(args, 2));
  if (user === undefined) return null;
  return new MapReply([
    "flags",
    new SetReply(flagWords(user)),
    "passwords",
    [...user.passwords],
    ...permissionPairs(caller, user),
    "selectors",
    user.selectors.map((selector) => new MapReply(permissionPairs(caller, selector))),
  ]);
}

function commandOf(caller: Caller, words: readonly string[]): CommandEntry {
  try {
    return caller.engine.lookup(words);
  } catch (error) {
    const isUnknown = (error as Error).message.startsWith("ERR unknown");
    throw isUnknown ? new ErrorReply(`ERR Command '${at(words, 0)}' not found`) : error;
  }
}

function dryRun(caller: Caller, args: readonly string[]): ReplyValue {
  const { acl, version } = caller.engine;
  const user = acl.users.get(at(args, 2));
  if (user === undefined) throw new ErrorReply(`ERR User '${at(args, 2)}' not found`);
  const words = args.slice(3);
  const entry = commandOf(caller, words);
  const refused = refusalOf(user, entry, { args: words, keys: keysOf(entry, words) });
  if (refused === null) return OK;
  const subject = version.isModern ? `User ${user.name}` : "This user";
  const { reason, object } = refused;
  const act = reason === "command" ? `run the '${object}' command` : `access the '${object}' ${reason}`;
  return `${subject} has no permissions to ${act}`;
}

function logEntry(caller: Caller, entry: LogEntry): ReplyValue {
  const { clock, version } = caller.engine;
  const age = (clock.now - entry.updatedAt) / 1000;
  const pairs: ReplyValue[] = [
    "count",
    entry.count,
    "reason",
    entry.reason,
    "context",
    entry.context,
    "object",
    entry.object,
    "username",
    entry.username,
    "age-seconds",
    new DoubleReply(age, String(age)),
    "client-info",
    entry.clientInfo,
  ];
  if (version.isModern) {
    pairs.push("entry-id", entry.id, "timestamp-created", entry.createdAt);
    pairs.push("timestamp-last-updated", entry.updatedAt);
  }
  return new MapReply(pairs);
}

function log(caller: Caller, args: readonly string[]): ReplyValue {
  const { acl } = caller.engine;
  if (args.length > 3) throw new ErrorReply(wrongWords("ACL", "log"));
  if (word(args, 2) === "RESET") {
    acl.log.clear();
    return OK;
  }
  const count = args.length === 3 ? Math.max(0, integerOf(at(args, 2))) : DEFAULT_LOG_ENTRIES;
  return acl.log.entries.slice(0, count).map((entry) => logEntry(caller, entry));
}

function deleteUsers(caller: Caller, args: readonly string[]): ReplyValue {
  const { acl, sessions } = caller.engine;
  let count = 0;
  for (const name of args.slice(2)) {
    if (name === "default") throw new ErrorReply("ERR The 'default' user cannot be removed");
    const user = acl.users.get(name);
    if (user === undefined) continue;
    acl.users.delete(name);
    count++;
    for (const session of [...sessions.values()]) if (session.user === user) session.kill();
  }
  return count;
}

function categories(caller: Caller, args: readonly string[]): ReplyValue {
  const name = args[2]?.toLowerCase();
  if (args.length > 3) throw new ErrorReply(wrongWords("ACL", at(args, 1)));
  if (name === undefined) return [...CATEGORIES];
  if (!CATEGORIES.includes(name)) throw new ErrorReply(`ERR Unknown category '${at(args, 2)}'`);
  return allCommands(caller)
    .filter((entry) => isIn(entry, name))
    .map((entry) => entry.name);
}

export const aclHandlers: Handlers = {
  "acl|whoami": (caller) => sessionOf(caller).user.name,
  "acl|users": (caller) => [...caller.engine.acl.users.keys()].sort(),
  "acl|list": (caller) => [...caller.engine.acl.users.values()].map((user) => describe(caller, user)),
  "acl|getuser": getUser,
  "acl|setuser"(caller, args) {
    caller.engine.acl.setUser(at(args, 2), args.slice(3));
    return OK;
  },
  "acl|dryrun": dryRun,
  "acl|log": log,
  "acl|deluser": deleteUsers,
  "acl|cat": categories,
  "acl|genpass": (caller) => caller.engine.random.hex(64),
};
