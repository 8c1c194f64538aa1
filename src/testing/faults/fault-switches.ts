/**
 * Faults on command: replies that are errors, replies that come late, a server that is full or
 * read-only. What goes wrong on the wire is the proxy's (fault-proxy.ts).
 */

import { toBytes } from "../protocol/numbers";
import { ErrorReply } from "../protocol/reply";
import { Flag } from "../server/flags";

export interface ReplyFault {
  /** How many times; without it until `clear`. */
  readonly times?: number;
}

interface Rule {
  readonly bytes: string;
  left: number;
}

export class FaultSwitches {
  private readonly replies = new Map<string, Rule>();
  private latencyMs = 0;
  private isFull = false;
  private isReadonly = false;

  /** Whether anything is switched on: asked for each command. */
  isActive = false;

  /**
   * Answers a command (`*` for every one) with these bytes instead of running it: an error
   * (`-LOADING Redis is loading the dataset in memory`) or any RESP reply.
   */
  reply(command: string, line: string, { times = Number.POSITIVE_INFINITY }: ReplyFault = {}): void {
    const bytes = toBytes(line);
    this.replies.set(command.toLowerCase(), {
      bytes: bytes.endsWith("\r\n") ? bytes : `${bytes}\r\n`,
      left: times,
    });
    this.isActive = true;
  }

  /** Every command waits so long before it runs. 0 ends it. */
  latency(milliseconds: number): void {
    this.latencyMs = milliseconds;
    this.refresh();
  }

  /** Writes are refused for want of memory. */
  oom(isOn = true): void {
    this.isFull = isOn;
    this.refresh();
  }

  /** Writes are refused as a replica refuses them. */
  readonly(isOn = true): void {
    this.isReadonly = isOn;
    this.refresh();
  }

  /** No fault any more. */
  clear(): void {
    this.replies.clear();
    this.latencyMs = 0;
    this.isFull = false;
    this.isReadonly = false;
    this.isActive = false;
  }

  /** Not for tests: true if the request was dealt with. */
  intercept(session: { write(bytes: string): void }, args: readonly string[]): boolean {
    const word = (args[0] ?? "").toLowerCase();
    const rule = this.replies.get(word) ?? this.replies.get("*");
    if (rule !== undefined && rule.left > 0) {
      rule.left--;
      session.write(rule.bytes);
      return true;
    }
    return false;
  }

  /** Not for tests: how long the next command has to wait. */
  get delayMs(): number {
    return this.latencyMs;
  }

  /** Not for tests: throws what a full or read-only server answers. */
  refuse(flags: number): void {
    if (this.isFull && (flags & Flag.DenyOom) !== 0) {
      throw new ErrorReply("OOM command not allowed when used memory > 'maxmemory'.");
    }
    if (this.isReadonly && (flags & Flag.Write) !== 0) {
      throw new ErrorReply("READONLY You can't write against a read only replica.");
    }
  }

  private refresh(): void {
    this.isActive = this.replies.size > 0 || this.latencyMs > 0 || this.isFull || this.isReadonly;
  }
}
