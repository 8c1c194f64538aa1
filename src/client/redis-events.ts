/** What the link reports, as the events of a `Redis` instance. Listeners never unwind the parser. */

import type { Command } from "../command/command";
import type { ClientIdentity } from "../connection/handshake";
import type { SubscriptionKind } from "../connection/subscriptions";
import { ConnectionClosedError } from "../errors";
import type { ExpiringCredentials } from "../link/credentials";
import { dismiss } from "../link/farewell";
import type { LinkOwner } from "../link/link-options";
import type { LinkStatus } from "../link/link-state";
import { explain, hintOnReply } from "../observability/hints";
import type { Reply } from "../protocol/resp-types";
import { callUser } from "../util/user-code";
import { VERSION } from "../util/version";
import { PARTS } from "./chain";
import type { ClientTracer } from "./client-tracer";
import { emitMessage, type Message } from "./events";
import { parseMonitorLine } from "./monitor-line";
import type { Redis } from "./redis";

/** Who looks after a link besides its own client: the cluster that it is a part of. */
export interface LinkSupervisor {
  onStatus(status: LinkStatus): void;
  onNamedError(type: string, error: Error): void;
  onReplyError(command: Command, error: Error): boolean;
  adopts(command: Command): boolean;
  onOrphans(commands: readonly Command[], error: Error): void;
  onShardLost(channel: Buffer): void;
  onMessage(message: Message): void;
}

export class RedisEvents implements LinkOwner {
  readonly identity: ClientIdentity = { name: "sluice", version: VERSION };
  supervisor: LinkSupervisor | null = null;

  constructor(
    private readonly redis: Redis,
    private readonly tracer: ClientTracer,
  ) {}

  credentials(): ExpiringCredentials | Promise<ExpiringCredentials> {
    const { options } = this.redis;
    return typeof options.credentials === "function" ? options.credentials() : options;
  }

  onStatus(status: LinkStatus, argument: unknown): void {
    this.tracer.onStatus(status);
    // The first words come while the client is still being built.
    this.redis[PARTS]?.auto?.hold(status === "ready");
    process.nextTick(() => {
      if (argument === undefined) this.redis.emit(status);
      else this.redis.emit(status, argument);
    });
    this.supervisor?.onStatus(status);
    if (status === "end") this.redis[PARTS]?.lease?.close((commands) => this.dismissWaiting(commands));
  }

  /** Ends commands that have not reached a link, or lets who looks after this one take them elsewhere. */
  dismissWaiting(commands: readonly Command[]): void {
    dismiss(commands, this, () => new ConnectionClosedError());
  }

  onNamedError(type: string, error: Error): void {
    this.supervisor?.onNamedError(type, error);
    if (type === "error") this.tracer.onError(error);
    callUser(() => this.redis.silentEmit(type, error));
  }

  onSelect(db: number): void {
    this.emitSafely("select", db);
  }

  onMessage(kind: SubscriptionKind, pattern: Buffer | null, channel: Buffer, payload: Reply): void {
    const message = { kind, pattern, channel, payload };
    this.supervisor?.onMessage(message);
    emitMessage(this.redis, message);
  }

  onShardLost(channel: Buffer): void {
    this.supervisor?.onShardLost(channel);
    this.emitSafely("moved");
  }

  onOtherPush(kind: string, message: readonly unknown[]): void {
    this.emitSafely(`push:${kind}`, message);
  }

  onMonitorLine(line: string): void {
    const { time, args, source, database } = parseMonitorLine(line);
    this.emitSafely("monitor", time, args, source, database);
  }

  isTracing(): boolean {
    return this.tracer.isListening;
  }

  onWrite(command: Command): void {
    this.tracer.onWrite(command);
  }

  onReplyError(command: Command, error: Error): boolean {
    const { supervisor } = this;
    if (supervisor !== null) return supervisor.onReplyError(command, error);
    explain(error, hintOnReply(error.message));
    return false;
  }

  adopts(command: Command): boolean {
    return this.supervisor?.adopts(command) ?? false;
  }

  onOrphans(commands: readonly Command[], error: Error): void {
    this.supervisor?.onOrphans(commands, error);
  }

  private emitSafely(event: string, ...args: unknown[]): void {
    callUser(() => this.redis.emit(event, ...args));
  }
}
