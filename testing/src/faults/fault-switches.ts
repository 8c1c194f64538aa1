/**
 * Faults on command: error replies, late replies, a server that is full or read-only. Network faults belong to
 * the proxy (fault-proxy.ts).
 */

import { toBytes } from "../protocol/numbers";
import { ErrorReply } from "../protocol/reply";
import { Flag } from "../server/flags";

export interface ReplyFault {
  /** How many times; by default until `clear`. */
  readonly times?: number;
}

interface Rule {
  readonly bytes: string;
  left: number;
}

/** The faults of a cluster on command. */
export interface ClusterControl {
  move(slot: number, node: NodeChoice): void;
  beginMove(slot: number, node: NodeChoice, keys: readonly string[]): void;
  failover(node: NodeChoice): void;
}

/** A node of `server.nodes`, its place in that list, or its port. */
export type NodeChoice = number | { readonly id: string };

export class FaultSwitches {
  /** Not for tests: set by a cluster. */
  cluster: ClusterControl | null = null;
  private readonly replies = new Map<string, Rule>();
  private latencyMs = 0;
  private isFull = false;
  private isReadonly = false;

  /** Whether any fault is active: read for each command. */
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

  /** A slot of the cluster goes to another master with all its keys. */
  move(slot: number, node: NodeChoice): void {
    this.control().move(slot, node);
  }

  /**
   * Starts to move a slot to another master: these keys have arrived, the others have not, so that clients meet
   * ASK and TRYAGAIN. `move` completes it.
   */
  beginMove(slot: number, node: NodeChoice, keys: readonly string[] = []): void {
    this.control().beginMove(slot, node, keys);
  }

  /** The replica of a master takes its place, or the replica that is given the place of its master. */
  failover(node: NodeChoice): void {
    this.control().failover(node);
  }

  private control(): ClusterControl {
    if (this.cluster !== null) return this.cluster;
    throw new Error("This server is no cluster; start it with TestServer.start({ cluster: 3 })");
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

  /** Not for tests: throws the error of a full or read-only server. */
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
