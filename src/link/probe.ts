/**
 * Asks a server on a connection of its own how it is, because another connection to it is
 * silent. Says whether that other line is dead or the server is merely at work.
 */

import type { Socket } from "node:net";
import type { Command } from "../command/command";
import type { ConnectionOwner } from "../connection/connection";
import { Connection } from "../connection/connection";
import { type Credentials, handshake, request } from "../connection/handshake";
import { Subscriptions } from "../connection/subscriptions";
import { withoutRequests } from "./farewell";
import { connectionOptions, type LinkOptions } from "./link-options";
import { openSocket } from "./tcp-connector";
import { Verdict } from "./watchdog";

export interface ProbeTarget {
  readonly options: LinkOptions;
  readonly credentials: Credentials;
  /** The silent connection's socket: the probe goes to the same address. */
  readonly socket: Partial<Socket>;
  /** Number that the server gave the silent connection, if it did. */
  readonly clientId: number | null;
  readonly timeoutMs: number;
}

/** Never rejects. */
export function probe(target: ProbeTarget): Promise<Verdict> {
  return new Promise((resolve) => {
    const attempt = new Probe(target, (verdict) => {
      clearTimeout(timer);
      resolve(verdict);
    });
    const timer = setTimeout(() => attempt.onTimeout(), target.timeoutMs);
    attempt.start();
  });
}

class Probe implements ConnectionOwner {
  readonly subscriptions = new Subscriptions();
  private readonly connection: Connection;
  private isOpen = false;
  private isDone = false;

  constructor(
    private readonly target: ProbeTarget,
    private readonly onVerdict: (verdict: Verdict) => void,
  ) {
    this.connection = new Connection(connectionOptions(target.options), this);
  }

  start(): void {
    const { options, socket } = this.target;
    const { path } = options;
    const address = path ? { path } : { host: socket.remoteAddress, port: socket.remotePort };
    const tls = options.tls && { servername: options.host, ...options.tls };
    this.connection.attach(openSocket({ ...address, tls: tls || undefined }, this.connection.onread));
  }

  onTimeout(): void {
    // Accepted and silent: at work or paused. Not even accepted: gone.
    this.conclude(this.isOpen ? Verdict.ServerIsBusy : Verdict.Unreachable);
  }

  onOpen(): void {
    this.isOpen = true;
    void this.ask();
  }

  onClose(): void {
    withoutRequests(this.connection.queue.takeAll());
    this.conclude(Verdict.Unreachable);
  }

  private async ask(): Promise<void> {
    const { options, credentials, clientId } = this.target;
    const { protocol } = options;
    const identity = { name: "", version: "" };
    const bare = { protocol, disableClientInfo: true };
    const outcome = await handshake(this.connection, { options: bare, credentials, identity }, () => {});
    if (outcome.kind === "failed") {
      this.conclude(isAtWork(outcome.error) ? Verdict.ServerIsBusy : Verdict.LineIsDead);
      return;
    }
    const pong = await request(this.connection, "ping", []);
    if (pong.error !== null && isAtWork(pong.error)) this.conclude(Verdict.ServerIsBusy);
    else if (clientId === null) this.conclude(Verdict.LineIsDead);
    else this.judge(await request(this.connection, "client", ["list", "id", String(clientId)]));
  }

  /** The server's own view of the silent connection: blocked there (pause, script) is not dead. */
  private judge(answer: { value: unknown }): void {
    const flags = / flags=(\S*)/.exec(String(answer.value ?? ""))?.[1] ?? "";
    this.conclude(flags.includes("b") ? Verdict.ServerIsBusy : Verdict.LineIsDead);
  }

  private conclude(verdict: Verdict): void {
    if (this.isDone) return;
    this.isDone = true;
    this.connection.destroy();
    this.onVerdict(verdict);
  }

  // What else a connection reports is of no interest here.
  onReplyError(_command: Command, _error: Error): boolean {
    return false;
  }
  onStateReply(): void {}
  onWrite(): void {}
  isTracing(): boolean {
    return false;
  }
  onMonitorLine(): void {}
  onConnectionError(): void {}
  onMessage(): void {}
  onSubscriptionsChanged(): void {}
  onShardLost(): void {}
  onOtherPush(): void {}
}

function isAtWork(error: Error): boolean {
  return error.message.startsWith("BUSY") || error.message.startsWith("LOADING");
}
