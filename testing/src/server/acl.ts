/**
 * The users of a server. Rules of ACL SETUSER are applied as a whole or not at all.
 */

import { ErrorReply } from "../protocol/reply";
import { AclLog } from "./acl-log";
import { applyRule, joinSelectors, type KnowsCommand } from "./acl-rules";
import { hashPassword, User } from "./user";

const DEFAULT_RULES = ["on", "nopass", "~*", "&*", "+@all"];

export class Acl {
  readonly users = new Map<string, User>();
  readonly log = new AclLog();
  readonly defaultUser: User;

  constructor(
    private readonly knows: KnowsCommand,
    /** Redis 8 says so of each new user. */
    private readonly sanitizing: User["sanitizing"] = "",
    private readonly isSanitizedByReset = true,
    private readonly isModern = true,
  ) {
    this.defaultUser = new User("default", sanitizing);
    for (const rule of DEFAULT_RULES) applyRule(this.defaultUser, rule, knows);
    this.users.set("default", this.defaultUser);
  }

  /** The user, or an error as AUTH gives it. */
  authenticate(name: string, password: string): User {
    const user = this.users.get(name);
    if (user?.accepts(password)) return user;
    throw new ErrorReply("WRONGPASS invalid username-password pair or user is disabled.");
  }

  setUser(name: string, rules: readonly string[]): void {
    const present = this.users.get(name);
    const draft = new User(name, this.sanitizing, this.isSanitizedByReset);
    if (present === undefined) draft.channelPatterns = [];
    else present.copyTo(draft);
    for (const rule of joinSelectors(rules, this.isModern)) applyRule(draft, rule, this.knows);
    const user = present ?? new User(name);
    draft.copyTo(user);
    this.users.set(name, user);
  }

  /** `requirepass`: the only password of the default user; an empty one removes it. */
  setDefaultPassword(password: string): void {
    this.defaultUser.passwords.clear();
    this.defaultUser.needsNoPassword = password === "";
    if (password !== "") this.defaultUser.passwords.add(hashPassword(password));
  }
}
