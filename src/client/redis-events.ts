/** Emits the reports of the link as events of a `Redis` instance. An error of a listener never unwinds the parser. */

import type { EventEmitter } from "node:events";
import type { Command } from "../command/command";
import { ConnectionCounts } from "../connection/connection-counts";
import type { MessageListener } from "../connection/push-router";
import type { SubscriptionGap, SubscriptionKind } from "../connection/subscriptions";
import { ConnectionClosedError } from "../errors";
import { askProvider } from "../link/credential-provider";
import { endCommands } from "../link/leftovers";
import type { LinkDeps, LinkListener, Takeover } from "../link/link-options";
import type { LinkStatus } from "../link/link-state";
import { explainReply } from "../observability/hints";
import type { Message } from "../protocol/message";
import type { Reply } from "../protocol/resp-types";
import { nextTick } from "../util/scheduling";
import { callUser } from "../util/user-code";
import { type Chain, PARTS } from "./chain";
import type { ClientTracer } from "./client-tracer";
import { emitMessage, emitRefusal } from "./events";
import {
  type MaintenanceListener,
  type MaintenanceReport,
  moverMaker,
  type Notice,
} from "./maintenance/maintenance";
import type { RedisOptions } from "./options/redis-options";
import type { RedisStatus } from "./types";

/** The cluster of a link, which receives some of its reports. */
export interface LinkSupervisor {
  onStatus?(status: LinkStatus): void;
  onNamedError?(type: string, error: Error): void;
  /** Returns true when the command was redirected. */
  onReplyError?(command: Command, error: Error): boolean;
  readonly takeover?: Takeover;
  onShardLost?(channel: Buffer): void;
  onMessage?(message: Message): void;
  onMaintenance?(report: MaintenanceReport): void;
  /** The server announced that slots have moved to other nodes. */
  onSlotsMoved?(notice: Notice): void;
}

export interface EventfulClient extends EventEmitter {
  readonly options: RedisOptions;
  /** Undefined while the client is being built. */
  readonly [PARTS]?: Chain;
  silentEmit(event: string, argument: unknown): boolean;
}

const MONITOR_HEAD = /^(\S+) \[(\d+) ([^\]]*)\]/;
const MONITOR_WORD = /"((?:[^"\\]|\\.)*)"/g;

export class RedisEvents implements LinkDeps, LinkListener, MessageListener, MaintenanceListener {
  supervisor: LinkSupervisor | null = null;
  /** The value that an application has written to `status`; the next state change of the link replaces it. */
  shownStatus: RedisStatus | null = null;

  readonly counts = new ConnectionCounts();
  readonly makeMover: ReturnType<typeof moverMaker>;
  readonly listener: LinkListener = this;
  readonly messages: MessageListener = this;

  constructor(
    private readonly client: EventfulClient,
    readonly tracer: ClientTracer,
  ) {
    this.makeMover = moverMaker(client.options, this, this);
  }

  get takeover(): Takeover | null {
    return this.supervisor?.takeover ?? null;
  }

  /** Calls the `credentials` function of the options, or joins the pending call of another connection. */
  credentials(
    reason: Parameters<LinkDeps["credentials"]>[0] = "connect",
  ): ReturnType<LinkDeps["credentials"]> {
    const { options } = this.client;
    const { credentials, host, port, path, sentinels, tls } = options;
    if (typeof credentials !== "function") return options;
    // A Sentinel names the server only while the client connects.
    const address = sentinels || path ? {} : { host, port };
    return askProvider(credentials, { ...address, tls: Boolean(tls), reason });
  }

  redirects(command: Command, error: Error): boolean {
    if (this.client[PARTS]?.merger?.divides(command, error) === true) return true;
    if (this.movesOn(command, error)) return true;
    if (this.supervisor === null) explainReply(error, command.args);
    return false;
  }

  report(command: Command): void {
    this.tracer.report(command);
  }

  movesOn(command: Command, error: Error): boolean {
    return this.supervisor?.onReplyError?.(command, error) === true;
  }

  onStatus(status: LinkStatus, argument: unknown): void {
    this.shownStatus = null;
    this.tracer.onStatus(status);
    // The first states are reported while the client is still being built.
    const parts = this.client[PARTS];
    parts?.auto?.hold(status === "ready");
    parts?.tracker?.onStatus(status === "ready", this.tracer);
    parts?.replicas?.onStatus(status);
    nextTick(() => {
      if (argument === undefined) this.client.emit(status);
      else this.client.emit(status, argument);
    });
    this.supervisor?.onStatus?.(status);
    if (status === "end" && parts?.leases) {
      // Leased connections that have sent QUIT still receive the replies to their commands.
      this.settleWaiting(parts.leases.close(({ link }) => link.session.isQuitting));
    }
  }

  /** Ends commands that have not reached a link, or lets the cluster move them to other nodes. */
  settleWaiting(commands: readonly Command[]): void {
    endCommands(commands, this.takeover, () => new ConnectionClosedError());
  }

  onNamedError(type: string, error: Error): void {
    this.supervisor?.onNamedError?.(type, error);
    if (type === "error") this.tracer.onError(error);
    callUser(() => this.client.silentEmit(type, error));
  }

  onSelect(db: number): void {
    this.emitSafely("select", db);
  }

  onGap(gap: SubscriptionGap): void {
    this.emitSafely("gap", gap);
  }

  onNameRefused(kind: SubscriptionKind, name: Buffer, error: Error): void {
    emitRefusal(this.client, kind, name, error);
  }

  onMaintenance(report: MaintenanceReport): void {
    if (report.state === "moved") {
      // The server tracks keys for the former connection.
      const { tracker, replicas } = this.client[PARTS] ?? {};
      tracker?.onStatus(false, this.tracer);
      tracker?.onStatus(true, this.tracer);
      replicas?.onStatus("ready");
    }
    this.supervisor?.onMaintenance?.(report);
    this.emitSafely("maintenance", report);
  }

  onSlotsMoved(notice: Notice): void {
    this.supervisor?.onSlotsMoved?.(notice);
  }

  onMessage(message: Message): void {
    this.supervisor?.onMessage?.(message);
    emitMessage(this.client, message);
  }

  onShardLost(channel: Buffer): void {
    this.supervisor?.onShardLost?.(channel);
    this.emitSafely("moved");
  }

  onOtherPush(kind: string, message: readonly Reply[]): void {
    this.client[PARTS]?.tracker?.onPush(kind, message);
    this.emitSafely(`push:${kind}`, message);
  }

  onMonitorLine(line: string): void {
    this.emitSafely("monitor", ...parseMonitorLine(line));
  }

  private emitSafely(event: string, ...args: unknown[]): void {
    callUser(() => this.client.emit(event, ...args));
  }
}

/** Parses `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`. The source is `ip:port`, `lua` or `unix:path`. */
function parseMonitorLine(line: string): [time: string, args: string[], source: string, database: string] {
  const head = MONITOR_HEAD.exec(line);
  if (head === null) return [line, [], "", ""];
  const [whole, time = "", database = "", source = ""] = head;
  const args = Array.from(line.slice(whole.length).matchAll(MONITOR_WORD), (match) =>
    (match[1] as string).replaceAll('\\"', '"'),
  );
  return [time, args, source, database];
}
