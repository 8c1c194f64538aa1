/**
 * The rules of ACL SETUSER, one at a time: `on`, `>password`, `~key*`, `%R~key`, `&channel`,
 * `+command`, `-@category` and their kind.
 */

import { ErrorReply } from "../protocol/reply";
import { isCategory } from "./acl-categories";
import { type CommandRule, hashPassword, type KeyPattern, Permissions, type User } from "./user";

/** Whether a server knows a command, or a subcommand as `config|get`. */
export type KnowsCommand = (name: string) => boolean;

type Action = (user: User, rule: string, knows: KnowsCommand) => void;
type PermissionAction = (permissions: Permissions, rule: string, knows: KnowsCommand) => void;

/** Of a user and of a selector. */
const PERMISSION_WORDS: Readonly<Record<string, PermissionAction>> = {
  allkeys: (user) => void (user.keyPatterns = [{ pattern: "*", mayRead: true, mayWrite: true }]),
  resetkeys: (user) => void (user.keyPatterns = []),
  allchannels: (user) => void (user.channelPatterns = ["*"]),
  resetchannels: (user) => void (user.channelPatterns = []),
  allcommands: (user) => setAllCommands(user, true),
  nocommands: (user) => setAllCommands(user, false),
};

const WORDS: Readonly<Record<string, Action>> = {
  ...PERMISSION_WORDS,
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
  "sanitize-payload": (user) => void (user.sanitizing = "sanitize-payload"),
  "skip-sanitize-payload": (user) => void (user.sanitizing = "skip-sanitize-payload"),
  clearselectors: (user) => void (user.selectors = []),
  reset,
};

function setAllCommands(user: Permissions, isAllowed: boolean): void {
  user.commandRules = [{ isAllowed, category: "all", command: "" }];
}

function problem(rule: string, text: string): ErrorReply {
  return new ErrorReply(`ERR Error in ACL SETUSER modifier '${rule}': ${text}`);
}

function applyCommandRule(user: Permissions, rule: string, knows: KnowsCommand): void {
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
  // The last word on a command counts; one on a command is one on its subcommands as well.
  const isReplaced = ({ category, command }: CommandRule): boolean =>
    added.category === null
      ? category === null && (command === added.command || command.startsWith(`${added.command}|`))
      : category === added.category;
  user.commandRules = [...user.commandRules.filter((one) => !isReplaced(one)), added];
}

function pastAll(flag: string, advice: string): string {
  return `Adding a pattern after the * pattern (or the '${flag}' flag) is not valid and does not have any effect. Try '${advice}`;
}

function applyChannelRule(user: Permissions, rule: string): void {
  const pattern = rule.slice(1);
  if (pattern === "*") user.channelPatterns = ["*"];
  else if (user.channelPatterns.includes("*")) {
    throw problem(rule, pastAll("allchannels", "resetchannels' to start with an empty list of channels"));
  } else if (!user.channelPatterns.includes(pattern))
    user.channelPatterns = [...user.channelPatterns, pattern];
}

function applyKeyRule(user: Permissions, rule: string): void {
  const match = /^(?:~|%([RWrw]{1,2})~)(.*)$/s.exec(rule);
  if (match === null) throw problem(rule, "Syntax error");
  const access = (match[1] ?? "RW").toUpperCase();
  const pattern = match[2] ?? "";
  if (user.keyPatterns.some((one) => one.pattern === "*" && one.mayRead && one.mayWrite) && rule !== "~*") {
    throw problem(rule, pastAll("allkeys", "resetkeys' to start with an empty list of patterns"));
  }
  const old = user.keyPatterns.find((one) => one.pattern === pattern);
  const added: KeyPattern = {
    pattern,
    mayRead: access.includes("R") || old?.mayRead === true,
    mayWrite: access.includes("W") || old?.mayWrite === true,
  };
  if (rule === "~*") user.keyPatterns = [added];
  else if (old === undefined) user.keyPatterns = [...user.keyPatterns, added];
  else user.keyPatterns = user.keyPatterns.map((one) => (one === old ? added : one));
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
  user.selectors = [];
  if (user.isSanitizedByReset) user.sanitizing = "sanitize-payload";
  setAllCommands(user, false);
}

const PERMISSION_LETTERS: Readonly<Record<string, PermissionAction>> = {
  "+": applyCommandRule,
  "-": applyCommandRule,
  "~": applyKeyRule,
  "%": applyKeyRule,
  "&": applyChannelRule,
};

/** `(+get ~a*)`: permissions beside the user's own. */
function addSelector(user: User, rule: string, knows: KnowsCommand): void {
  const selector = new Permissions();
  for (const word of rule.slice(1, -1).split(/\s+/).filter(Boolean)) {
    const apply = PERMISSION_WORDS[word.toLowerCase()] ?? PERMISSION_LETTERS[word[0] ?? ""];
    if (apply === undefined) throw problem(rule, "Syntax error");
    try {
      apply(selector, word, knows);
    } catch (error) {
      // The message names the rule as it was given.
      const text = (error as Error).message.replace(/^[^']*'[^']*': /, "");
      throw problem(rule, text);
    }
  }
  user.selectors = [...user.selectors, selector];
}

const BY_FIRST_LETTER: Readonly<Record<string, Action>> = {
  ...PERMISSION_LETTERS,
  "(": addSelector,
  ">": applyPasswordRule,
  "<": applyPasswordRule,
  "#": applyPasswordRule,
  "!": applyPasswordRule,
};

/** A selector may be spread over several words; it is one rule. Redis 7.0 forgets one that another follows. */
export function joinSelectors(words: readonly string[], isModern: boolean): string[] {
  const rules: string[] = [];
  const open: string[] = [];
  for (const word of words) {
    if (!isModern && word.startsWith("(") && !word.endsWith(")")) open.length = 0;
    if (open.length === 0 && !word.startsWith("(")) rules.push(word);
    else open.push(word);
    if (open.length > 0 && word.endsWith(")")) rules.push(open.splice(0).join(" "));
  }
  if (open.length === 0) return rules;
  throw new ErrorReply(`ERR Unmatched parenthesis in acl selector starting at '${open[0]}'.`);
}

export function applyRule(user: User, rule: string, knows: KnowsCommand): void {
  const apply = WORDS[rule.toLowerCase()] ?? BY_FIRST_LETTER[rule[0] ?? ""];
  if (apply === undefined) throw problem(rule, "Syntax error");
  apply(user, rule, knows);
}
