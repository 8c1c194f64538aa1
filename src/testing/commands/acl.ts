/**
 * ACL: users, their rules and what they may do. The log and files are not kept.
 */

import { ErrorReply, MapReply, OK, type ReplyValue } from "../protocol/reply";
import { categoryNames, isIn } from "../server/acl-categories";
import type { Caller, Handlers } from "../server/model";
import type { CommandRule, KeyPattern, User } from "../server/user";
import { at } from "./arguments";
import { sessionOf } from "./connection";

function commandText(rules: readonly CommandRule[]): string {
  return rules
    .map(
      ({ isAllowed, category, command }) =>
        `${isAllowed ? "+" : "-"}${category === null ? command : `@${category}`}`,
    )
    .join(" ");
}

function keyText({ pattern, mayRead, mayWrite }: KeyPattern): string {
  if (mayRead && mayWrite) return `~${pattern}`;
  return `%${mayRead ? "R" : "W"}~${pattern}`;
}

function describe(user: User): string {
  const words = [`user ${user.name}`, user.isEnabled ? "on" : "off"];
  if (user.needsNoPassword) words.push("nopass");
  for (const password of user.passwords) words.push(`#${password}`);
  words.push("sanitize-payload", ...user.keyPatterns.map(keyText));
  const channels = user.channelPatterns.map((pattern) => `&${pattern}`);
  words.push(...(channels.length === 0 ? ["resetchannels"] : channels), commandText(user.commandRules));
  return words.join(" ");
}

function getUser(caller: Caller, args: readonly string[]): ReplyValue {
  const user = caller.engine.acl.users.get(at(args, 2));
  if (user === undefined) return null;
  const flags = [user.isEnabled ? "on" : "off"];
  if (user.needsNoPassword) flags.push("nopass");
  flags.push("sanitize-payload");
  return new MapReply([
    "flags",
    flags,
    "passwords",
    [...user.passwords],
    "commands",
    commandText(user.commandRules),
    "keys",
    user.keyPatterns.map(keyText).join(" "),
    "channels",
    user.channelPatterns.map((pattern) => `&${pattern}`).join(" "),
    "selectors",
    [],
  ]);
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
  if (name === undefined) return [...categoryNames()];
  if (!categoryNames().includes(name)) throw new ErrorReply(`ERR Unknown category '${at(args, 2)}'`);
  return [...caller.engine.commands.values()].filter((entry) => isIn(entry, name)).map((entry) => entry.name);
}

export const aclHandlers: Handlers = {
  "acl|whoami": (caller) => sessionOf(caller).user.name,
  "acl|users": (caller) => [...caller.engine.acl.users.keys()].sort(),
  "acl|list": (caller) => [...caller.engine.acl.users.values()].map(describe),
  "acl|getuser": getUser,
  "acl|setuser"(caller, args) {
    caller.engine.acl.setUser(at(args, 2), args.slice(3));
    return OK;
  },
  "acl|deluser": deleteUsers,
  "acl|cat": categories,
  "acl|genpass": (caller) => caller.engine.random.hex(64),
};
