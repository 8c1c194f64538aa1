/**
 * The rules of ACL SETUSER, one at a time: `on`, `>password`, `~key*`, `%R~key`, `&channel`,
 * `+command`, `-@category` and their kind.
 */

import { ErrorReply } from "../protocol/reply";
import { isCategory } from "./acl-categories";
import { type CommandRule, hashPassword, type User } from "./user";

/** Whether a server knows a command, or a subcommand as `config|get`. */
export type KnowsCommand = (name: string) => boolean;

type Action = (user: User, rule: string, knows: KnowsCommand) => void;

const WORDS: Readonly<Record<string, Action>> = {
  on: (user) => void (user.isEnabled = true),
  off: (user) => void (user.isEnabled = false),
  nopass: (user) => {
    user.needsNoPassword = true;
    user.passwords.clear();
  },
  resetpass: (user) => {
    user.needsNoPassword = false;
    user.passwords.clear();
  },
  allkeys: (user) => void (user.keyPatterns = [{ pattern: "*", mayRead: true, mayWrite: true }]),
  resetkeys: (user) => void (user.keyPatterns = []),
  allchannels: (user) => void (user.channelPatterns = ["*"]),
  resetchannels: (user) => void (user.channelPatterns = []),
  allcommands: (user) => setAllCommands(user, true),
  nocommands: (user) => setAllCommands(user, false),
  "sanitize-payload": () => {},
  "skip-sanitize-payload": () => {},
  clearselectors: () => {},
  reset,
};

function setAllCommands(user: User, isAllowed: boolean): void {
  user.commandRules = [{ isAllowed, category: "all", command: "" }];
}

function problem(rule: string, text: string): ErrorReply {
  return new ErrorReply(`ERR Error in ACL SETUSER modifier '${rule}': ${text}`);
}

function applyCommandRule(user: User, rule: string, knows: KnowsCommand): void {
  const isAllowed = rule[0] === "+";
  const name = rule.slice(1).toLowerCase();
  if (name === "@all") {
    setAllCommands(user, isAllowed);
    return;
  }
  let added: CommandRule;
  if (name.startsWith("@")) {
    if (!isCategory(name.slice(1))) throw problem(rule, "Unknown command or category name in ACL");
    added = { isAllowed, category: name.slice(1), command: "" };
  } else {
    if (!knows(name)) throw problem(rule, "Unknown command or category name in ACL");
    added = { isAllowed, category: null, command: name };
  }
  user.commandRules = [...user.commandRules, added];
}

function applyKeyRule(user: User, rule: string): void {
  const match = /^(?:~|%([RWrw]{1,2})~)(.*)$/s.exec(rule);
  if (match === null) throw problem(rule, "Syntax error");
  const access = (match[1] ?? "RW").toUpperCase();
  const pattern = match[2] ?? "";
  user.keyPatterns.push({ pattern, mayRead: access.includes("R"), mayWrite: access.includes("W") });
}

function applyPasswordRule(user: User, rule: string): void {
  const text = rule.slice(1);
  const isHash = rule[0] === "#" || rule[0] === "!";
  if (isHash && !/^[0-9a-f]{64}$/.test(text)) {
    throw problem(
      rule,
      "The provided password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
    );
  }
  const hash = isHash ? text : hashPassword(text);
  if (rule[0] === ">" || rule[0] === "#") {
    user.passwords.add(hash);
    user.needsNoPassword = false;
  } else if (!user.passwords.delete(hash)) {
    throw problem(rule, "The password you are trying to remove from the user does not exist");
  }
}

function reset(user: User): void {
  user.isEnabled = false;
  user.needsNoPassword = false;
  user.passwords.clear();
  user.keyPatterns = [];
  user.channelPatterns = [];
  setAllCommands(user, false);
}

const BY_FIRST_LETTER: Readonly<Record<string, Action>> = {
  "+": applyCommandRule,
  "-": applyCommandRule,
  "~": applyKeyRule,
  "%": applyKeyRule,
  ">": applyPasswordRule,
  "<": applyPasswordRule,
  "#": applyPasswordRule,
  "!": applyPasswordRule,
  "&": (user, rule) => void user.channelPatterns.push(rule.slice(1)),
};

export function applyRule(user: User, rule: string, knows: KnowsCommand): void {
  const apply = WORDS[rule.toLowerCase()] ?? BY_FIRST_LETTER[rule[0] ?? ""];
  if (apply === undefined) throw problem(rule, "Syntax error");
  apply(user, rule, knows);
}
