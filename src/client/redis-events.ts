/** What the link reports, as the events of a `Redis` instance. Listeners never unwind the parser. */

import type { Command } from "../command/command";
import type { ClientIdentity } from "../connection/handshake";
import { LineCounts } from "../connection/line-counts";
import type { MessageListener } from "../connection/push-router";
import type { SubscriptionKind } from "../connection/subscriptions";
import { ConnectionClosedError } from "../errors";
import { settleWaiting, type Takeover } from "../link/closing";
import type { LinkDeps, LinkListener } from "../link/link-options";
import type { LinkStatus } from "../link/link-state";
import { explain, hintOnReply } from "../observability/hints";
import type { Reply } from "../protocol/resp-types";
import { nextTick } from "../util/scheduling";
import { callUser } from "../util/user-code";
import { VERSION } from "../util/version";
import { PARTS } from "./chain";
import type { ClientTracer } from "./client-tracer";
import { emitMessage, type Message } from "./events";
import { parseMonitorLine } from "./monitor-line";
import type { Redis } from "./redis";
import type { RedisStatus } from "./types";

/** The cluster that a link is a part of: it is told what it has a use for. */
export interface LinkSupervisor {
  onStatus?(status: LinkStatus): void;
  onNamedError?(type: string, error: Error): void;
  /** True when the command was redirected. */
  onReplyError?(command: Command, error: Error): boolean;
  readonly takeover?: Takeover;
  onShardLost?(channel: Buffer): void;
  onMessage?(message: Message): void;
}

const IDENTITY: ClientIdentity = { name: "sluice", version: VERSION };

export class RedisEvents implements LinkListener, MessageListener {
  supervisor: LinkSupervisor | null = null;
  /** What an application has written to `status`; the next move of the link takes its place. */
  shownStatus: RedisStatus | null = null;

  /** What the connections of the client have done. */
  readonly counts = new LineCounts();

  constructor(
    private readonly redis: Redis,
    private readonly tracer: ClientTracer,
  ) {}

  /** What the links of the client work for. */
  linkDeps(): LinkDeps {
    return {
      identity: IDENTITY,
      credentials: () => {
        const { options } = this.redis;
        return typeof options.credentials === "function" ? options.credentials() : options;
      },
      listener: this,
      messages: this,
      tracer: this.tracer,
      counts: this.counts,
      redirects: (command, error) => this.redirects(command, error),
      takeover: {
        takesOver: (command) => this.supervisor?.takeover?.takesOver(command) === true,
        takeOver: (commands, error) => this.supervisor?.takeover?.takeOver(commands, error),
      },
    };
  }

  onStatus(status: LinkStatus, argument: unknown): void {
    this.shownStatus = null;
    this.tracer.onStatus(status);
    // The first words come while the client is still being built.
    this.redis[PARTS]?.auto?.hold(status === "ready");
    nextTick(() => {
      if (argument === undefined) this.redis.emit(status);
      else this.redis.emit(status, argument);
    });
    this.supervisor?.onStatus?.(status);
    if (status === "end") this.redis[PARTS]?.lease?.close((commands) => this.settleWaiting(commands));
  }

  /** Ends commands that have not reached a link, or lets who looks after this one take them elsewhere. */
  settleWaiting(commands: readonly Command[]): void {
    settleWaiting(commands, this.supervisor?.takeover ?? null, () => new ConnectionClosedError());
  }

  onNamedError(type: string, error: Error): void {
    this.supervisor?.onNamedError?.(type, error);
    if (type === "error") this.tracer.onError(error);
    callUser(() => this.redis.silentEmit(type, error));
  }

  onSelect(db: number): void {
    this.emitSafely("select", db);
  }

  onMessage(kind: SubscriptionKind, pattern: Buffer | null, channel: Buffer, payload: Reply): void {
    const message = { kind, pattern, channel, payload };
    this.supervisor?.onMessage?.(message);
    emitMessage(this.redis, message);
  }

  onShardLost(channel: Buffer): void {
    this.supervisor?.onShardLost?.(channel);
    this.emitSafely("moved");
  }

  onOtherPush(kind: string, message: readonly unknown[]): void {
    this.emitSafely(`push:${kind}`, message);
  }

  onMonitorLine(line: string): void {
    const { time, args, source, database } = parseMonitorLine(line);
    this.emitSafely("monitor", time, args, source, database);
  }

  private redirects(command: Command, error: Error): boolean {
    const { supervisor } = this;
    if (supervisor !== null) return supervisor.onReplyError?.(command, error) === true;
    explain(error, hintOnReply(error.message));
    return false;
  }

  private emitSafely(event: string, ...args: unknown[]): void {
    callUser(() => this.redis.emit(event, ...args));
  }
}
