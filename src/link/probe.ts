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
  /** The command that waits there for its reply. */
  readonly commandName: string;
}

/** A probe under way. */
export interface Probing {
  /** Never rejects. */
  readonly verdict: Promise<Verdict>;
  /** The answer is of no interest any more. */
  stop(): void;
}

export function probe(target: ProbeTarget): Probing {
  const attempt = new Probe(target);
  attempt.start();
  return attempt;
}

class Probe implements ConnectionOwner, Probing {
  readonly subscriptions = new Subscriptions();
  readonly verdict: Promise<Verdict>;
  private readonly connection: Connection;
  private settle!: (verdict: Verdict) => void;
  private timer: NodeJS.Timeout | undefined;
  private isOpen = false;
  private isDone = false;

  constructor(private readonly target: ProbeTarget) {
    this.connection = new Connection(connectionOptions(target.options), this);
    this.verdict = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  start(): void {
    const { options, socket } = this.target;
    const { path } = options;
    const address = path ? { path } : { host: socket.remoteAddress, port: socket.remotePort };
    const tls = options.tls && { servername: options.host, ...options.tls };
    this.timer = setTimeout(() => this.onTimeout(), this.target.timeoutMs);
    this.connection.attach(openSocket({ ...address, tls: tls || undefined }, this.connection.onread));
  }

  stop(): void {
    this.conclude(Verdict.ServerIsBusy);
  }

  onOpen(): void {
    this.isOpen = true;
    // Credentials may be of any kind, since they come from outside.
    this.ask().catch(() => this.stop());
  }

  onClose(): void {
    withoutRequests(this.connection.queue.takeAll());
    this.conclude(Verdict.Unreachable);
  }

  private onTimeout(): void {
    // Accepted and silent: at work or paused. Not even accepted: gone.
    this.conclude(this.isOpen ? Verdict.ServerIsBusy : Verdict.Unreachable);
  }

  private async ask(): Promise<void> {
    const { options, credentials, clientId } = this.target;
    const { protocol } = options;
    const identity = { name: "", version: "" };
    const bare = { protocol, disableClientInfo: true };
    const outcome = await handshake(
      this.connection,
      { options: bare, db: 0, credentials, identity },
      () => {},
    );
    if (outcome.kind === "failed") {
      this.conclude(isAtWork(outcome.error) ? Verdict.ServerIsBusy : Verdict.LineIsDead);
      return;
    }
    const pong = await request(this.connection, "ping", []);
    if (pong.error !== null && isAtWork(pong.error)) {
      this.conclude(Verdict.ServerIsBusy);
      return;
    }
    const which = clientId === null ? [] : ["id", String(clientId)];
    this.judge(await request(this.connection, "client", ["list", ...which]));
  }

  /** The server's own view of the silent connection: held back there (pause, script) is not dead. */
  private judge(answer: { value: unknown }): void {
    const line = this.lineOf(String(answer.value ?? ""));
    const isHeld = /(?:^| )flags=\S*b/.test(line);
    this.conclude(isHeld || isArriving(line) ? Verdict.ServerIsBusy : Verdict.LineIsDead);
  }

  /**
   * Its line in the server's list: the only one; without a number the one with its address, which
   * a network may have translated, or else one that is held back in the same command.
   */
  private lineOf(list: string): string {
    const { clientId, socket, commandName } = this.target;
    if (clientId !== null) return list;
    const lines = list.split("\n");
    const address = ` addr=${socket.localAddress?.replace(/^::ffff:/, "")}:${socket.localPort} `;
    const isSame = (line: string): boolean =>
      / flags=\S*b/.test(line) && / cmd=([^ |]*)/.exec(line)?.[1] === commandName;
    return lines.find((line) => line.includes(address)) ?? lines.find(isSame) ?? "";
  }

  private conclude(verdict: Verdict): void {
    if (this.isDone) return;
    this.isDone = true;
    clearTimeout(this.timer);
    this.connection.destroy();
    this.settle(verdict);
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

/** A large command is on its way: the server holds a part of it and has just read more. */
function isArriving(line: string): boolean {
  return / idle=[01] /.test(line) && / qbuf=[1-9]/.test(line);
}
