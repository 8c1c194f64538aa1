/**
 * A user of the access control list: passwords and permissions. In addition to its own permissions a user may
 * have selectors: a command is allowed if any of them allows all of it.
 */

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
  // Loading it takes a third of the time that all of the test server does, and few servers have passwords.
  const { createHash } = require("node:crypto") as typeof import("node:crypto");
  return createHash("sha256").update(Buffer.from(password, "latin1")).digest("hex");
}

/** Commands, keys and channels: those of a user, or of a selector. */
export class Permissions {
  commandRules: CommandRule[] = [{ isAllowed: false, category: "all", command: "" }];
  keyPatterns: KeyPattern[] = [];
  channelPatterns: string[] = [];

  /** Nothing needs to be checked. */
  get mayDoAll(): boolean {
    const [rule] = this.commandRules;
    const hasAllCommands =
      this.commandRules.length === 1 && rule?.isAllowed === true && rule.category === "all";
    const [keys] = this.keyPatterns;
    const hasAllKeys = keys?.pattern === "*" && keys.mayRead && keys.mayWrite;
    return hasAllCommands && hasAllKeys && this.channelPatterns[0] === "*";
  }

  copyPermissionsTo(other: Permissions): void {
    other.commandRules = [...this.commandRules];
    other.keyPatterns = [...this.keyPatterns];
    other.channelPatterns = [...this.channelPatterns];
  }
}

export class User extends Permissions {
  isEnabled = false;
  needsNoPassword = false;
  /** SHA-256, hexadecimal. */
  readonly passwords = new Set<string>();
  selectors: Permissions[] = [];

  constructor(
    readonly name: string,
    /** The rule about payloads of RESTORE; it changes nothing here. */
    public sanitizing: "" | "sanitize-payload" | "skip-sanitize-payload" = "",
    /** Redis says it after `reset`, Valkey does not. */
    readonly isSanitizedByReset = true,
  ) {
    super();
  }

  /** Connections have it without AUTH. */
  get isOpen(): boolean {
    return this.isEnabled && this.needsNoPassword;
  }

  accepts(password: string): boolean {
    return this.isEnabled && (this.needsNoPassword || this.passwords.has(hashPassword(password)));
  }

  copyTo(other: User): void {
    other.isEnabled = this.isEnabled;
    other.needsNoPassword = this.needsNoPassword;
    other.sanitizing = this.sanitizing;
    other.passwords.clear();
    for (const password of this.passwords) other.passwords.add(password);
    this.copyPermissionsTo(other);
    other.selectors = [...this.selectors];
  }
}
