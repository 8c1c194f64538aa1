/**
 * The refusals of the access control list (ACL LOG): the newest first; the same again counts once.
 */

export type Denial = "auth" | "command" | "key" | "channel";

export interface LogEntry {
  count: number;
  readonly reason: Denial;
  readonly context: "toplevel" | "multi" | "lua";
  readonly object: string;
  readonly username: string;
  readonly clientInfo: string;
  readonly id: number;
  readonly createdAt: number;
  updatedAt: number;
}

export type Refusal = Pick<LogEntry, "reason" | "context" | "object" | "username" | "clientInfo">;

const MAX_ENTRIES = 128;
const SAME_WITHIN_MS = 60_000;

export class AclLog {
  private found: LogEntry[] = [];
  private nextId = 0;

  get entries(): readonly LogEntry[] {
    return this.found;
  }

  add(refusal: Refusal, now: number): void {
    const same = this.found.find(
      (one) =>
        one.reason === refusal.reason &&
        one.context === refusal.context &&
        one.object === refusal.object &&
        one.username === refusal.username &&
        now - one.createdAt <= SAME_WITHIN_MS,
    );
    if (same === undefined) {
      const entry = { ...refusal, count: 1, id: this.nextId++, createdAt: now, updatedAt: now };
      this.found = [entry, ...this.found].slice(0, MAX_ENTRIES);
      return;
    }
    same.count++;
    same.updatedAt = now;
    this.found = [same, ...this.found.filter((one) => one !== same)];
  }

  clear(): void {
    this.found = [];
  }
}
