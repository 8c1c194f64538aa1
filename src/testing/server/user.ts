/**
 * A user of the access control list: passwords, commands, keys and channels.
 */

import { createHash } from "node:crypto";

export interface KeyPattern {
  readonly pattern: string;
  readonly mayRead: boolean;
  readonly mayWrite: boolean;
}

/** `+get`, `-@dangerous`: applied in order, the last that fits decides. */
export interface CommandRule {
  readonly isAllowed: boolean;
  /** A category, or null for a command. */
  readonly category: string | null;
  /** A command, or `config|get`. */
  readonly command: string;
}

export function hashPassword(password: string): string {
  return createHash("sha256").update(Buffer.from(password, "latin1")).digest("hex");
}

export class User {
  isEnabled = false;
  needsNoPassword = false;
  /** SHA-256, hexadecimal. */
  readonly passwords = new Set<string>();
  commandRules: CommandRule[] = [{ isAllowed: false, category: "all", command: "" }];
  keyPatterns: KeyPattern[] = [];
  channelPatterns: string[] = [];

  constructor(readonly name: string) {}

  /** Connections have it without AUTH. */
  get isOpen(): boolean {
    return this.isEnabled && this.needsNoPassword;
  }

  /** Nothing needs to be checked. */
  get mayDoAll(): boolean {
    const [rule] = this.commandRules;
    const hasAllCommands =
      this.commandRules.length === 1 && rule?.isAllowed === true && rule.category === "all";
    const [keys] = this.keyPatterns;
    const hasAllKeys = keys?.pattern === "*" && keys.mayRead && keys.mayWrite;
    return hasAllCommands && hasAllKeys && this.channelPatterns[0] === "*";
  }

  accepts(password: string): boolean {
    return this.isEnabled && (this.needsNoPassword || this.passwords.has(hashPassword(password)));
  }

  copyTo(other: User): void {
    other.isEnabled = this.isEnabled;
    other.needsNoPassword = this.needsNoPassword;
    other.passwords.clear();
    for (const password of this.passwords) other.passwords.add(password);
    other.commandRules = [...this.commandRules];
    other.keyPatterns = [...this.keyPatterns];
    other.channelPatterns = [...this.channelPatterns];
  }
}
