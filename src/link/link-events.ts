/**
 * What a connection and its establishment tell the link, kept apart from what the link offers:
 * judges error replies (scripts the server forgot, `reconnectOnError`) and follows replies that
 * change the state of the connection.
 */

import { BatchKind } from "../command/batch";
import { type Command, Origin } from "../command/command";
import { CommandFlag, TRANSACTION_END } from "../command/command-spec";
import type { ConnectionOwner } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import { type Fieldset, missingFieldset, prepareArgumentsOf } from "../connection/fieldsets";
import type { ClientIdentity, Credentials } from "../connection/handshake";
import { noteUnmasked, request } from "../connection/handshake";
import type { SubscriptionKind, Subscriptions } from "../connection/subscriptions";
import { ParserError, ReplyError } from "../errors";
import {
  explain,
  hintOnCut,
  hintOnGreeting,
  hintOnRefusal,
  hintOnTls,
  hintOnUnknown,
  isTurnedAway,
} from "../observability/hints";
import { attachCommand } from "../observability/redact";
import type { Reply } from "../protocol/resp-types";
import { callUser } from "../util/user-code";
import { type CredentialHost, CredentialRenewal, type ExpiringCredentials } from "./credentials";
import type { EstablishmentOwner } from "./establishment";
import type { Link } from "./link";
import type { LinkOwner } from "./link-options";
import { WrongServer } from "./wrong-server";

export class LinkEvents implements ConnectionOwner, EstablishmentOwner, CredentialHost {
  private readonly renewal = new CredentialRenewal(this);
  /** Commands that went again because of a forgotten fieldset. */
  private readonly repaired = new WeakSet<Command>();
  private readonly wrongServer: WrongServer;

  constructor(
    private readonly link: Link,
    private readonly owner: LinkOwner,
  ) {
    this.wrongServer = new WrongServer(link);
  }

  get subscriptions(): Subscriptions {
    return this.link.subscriptions;
  }

  get identity(): ClientIdentity {
    return this.owner.identity;
  }

  credentials(): ExpiringCredentials | Promise<ExpiringCredentials> {
    return this.owner.credentials();
  }

  authenticate({ username, password }: Credentials): Promise<Error | null> | null {
    const { connection, session, mode } = this.link;
    if (connection?.state !== ConnectionState.Ready || mode !== "normal" || session.isInTransaction)
      return null;
    const args = username ? [username, password ?? ""] : [password ?? ""];
    return request(connection, "auth", args).then(({ error }) => error);
  }

  onCredentialError(error: Error): void {
    this.link.onNamedError("error", error);
  }

  // --- establishment -----------------------------------------------------------------------

  onUnreachable(error: Error): void {
    this.link.onUnreachable(error);
  }

  onNamedError(type: string, error: Error): void {
    this.link.onNamedError(type, error);
  }

  onEstablished(info: Record<string, string>, credentials: ExpiringCredentials): void {
    this.link.onEstablished(info);
    this.wrongServer.onArrival(info["role"]);
    if (this.link.connection?.state === ConnectionState.Ready) this.renewal.start(credentials);
  }

  onRefused(error: Error): void {
    this.link.onRefused(error);
  }

  // --- connection --------------------------------------------------------------------------

  onOpen(): void {
    this.tuneSocket();
    this.link.onOpen();
  }

  onClose(): void {
    this.renewal.stop();
    this.link.onClose();
  }

  onConnectionError(error: Error): void {
    // An error reply that nothing had asked for, in front of the handshake.
    if (error instanceof ReplyError) this.onTurnedAway(error);
    else this.link.onNamedError("error", explain(error, this.hintOn(error)));
  }

  isTracing(): boolean {
    return this.owner.isTracing();
  }

  onWrite(command: Command): void {
    this.owner.onWrite(command);
  }

  onReplyError(command: Command, error: Error): boolean {
    const isOfConnection = command.origin === Origin.Connection;
    if (isOfConnection) noteUnmasked(command, error);
    if (error instanceof ReplyError) attachCommand(error, command.name, command.args);
    if (isOfConnection) {
      const isEarly = this.link.connection?.state === ConnectionState.Handshaking;
      if (isEarly && isTurnedAway(error.message)) this.onTurnedAway(error);
      return false;
    }
    // EXEC outside of MULTI tells nothing about a SELECT before it, which then has run.
    if (error.message.startsWith("EXECABORT")) this.link.onExecSettled(command, null);
    if (this.link.unblocker.takes(command, error)) return true;
    // Given up by its caller: nothing of it goes again.
    if (command.isSettled) return false;
    if (this.recoversScript(command, error) || this.recoversFieldset(command, error)) return true;
    if ((command.spec.flags & CommandFlag.Select) !== 0) this.link.onSelectRefused(command);
    if ((command.spec.flags & CommandFlag.Monitor) !== 0) this.link.onNamedError("error", error);
    if (this.reconnects(command, error)) return true;
    if (this.owner.onReplyError(command, error) || this.wrongServer.leaves(command, error)) return true;
    explain(error, hintOnUnknown(error.message, this.link.connection?.serverMode ?? null));
    return false;
  }

  onStateReply(command: Command, reply: Reply): void {
    const { flags } = command.spec;
    if ((flags & TRANSACTION_END) !== 0) this.link.onExecSettled(command, reply);
    const isSelected = (flags & CommandFlag.Select) !== 0 && command.group?.kind !== BatchKind.Transaction;
    if (isSelected) this.link.onSelected(Number(command.args[0]));
    if (command.spec.lowerName === "hello") {
      const version = Number(command.args[0]);
      if (version === 2 || version === 3) this.link.connection?.setProtocol(version);
    } else if ((flags & CommandFlag.Reset) !== 0) {
      this.link.subscriptions.clear();
      this.link.connection?.setProtocol(2);
      for (const fieldset of this.link.options.himportFieldsets ?? []) this.prepareAgain(fieldset);
    }
    const isMonitor = (flags & CommandFlag.Monitor) !== 0;
    if (isMonitor && this.link.connection !== null) this.link.connection.isMonitoring = true;
    if (isMonitor || (flags & CommandFlag.Quit) !== 0) this.link.onLastAnswer(flags);
    this.link.onModeChange();
  }

  onMessage(kind: SubscriptionKind, pattern: Buffer | null, channel: Buffer, payload: Reply): void {
    this.owner.onMessage(kind, pattern, channel, payload);
  }

  onSubscriptionsChanged(): void {
    this.link.onModeChange();
  }

  onShardLost(channel: Buffer): void {
    this.owner.onShardLost(channel);
  }

  onOtherPush(kind: string, message: readonly Reply[]): void {
    this.owner.onOtherPush(kind, message);
  }

  onMonitorLine(line: string): void {
    this.owner.onMonitorLine(line);
  }

  // --- inside ------------------------------------------------------------------------------

  private hintOn(error: Error): string | null {
    const { connection, options } = this.link;
    const isGreeting = connection?.state === ConnectionState.Handshaking;
    if (isGreeting && error instanceof ParserError)
      return hintOnGreeting(error.message, Boolean(options.tls));
    if (options.tls) return hintOnTls(error);
    return isGreeting && connection.bytesRead === 0 ? hintOnCut(error) : null;
  }

  private onTurnedAway(error: Error): void {
    this.link.onRefused(explain(error, hintOnRefusal(error.message, false)));
  }

  /** The server forgot a script (SCRIPT FLUSH, restart): the command goes again with its text. */
  private recoversScript(command: Command, error: Error): boolean {
    const script = command.extra?.script;
    if (script === null || script === undefined || !error.message.startsWith("NOSCRIPT")) return false;
    // A script that was sent by its text says so itself.
    if (command.spec !== script.bySha) return false;
    this.link.connection?.scripts.forget(script.sha);
    this.link.resendNow(command);
    return true;
  }

  /** The server forgot a fieldset (HIMPORT DISCARD): the SET goes again behind its PREPARE, once. */
  private recoversFieldset(command: Command, error: Error): boolean {
    const fieldset = missingFieldset(this.link.options.himportFieldsets ?? [], command, error);
    if (fieldset === undefined || this.repaired.has(command)) return false;
    this.repaired.add(command);
    this.prepareAgain(fieldset);
    this.link.resendNow(command);
    return true;
  }

  private prepareAgain(fieldset: Fieldset): void {
    const { connection } = this.link;
    if (connection?.state !== ConnectionState.Ready) return;
    void request(connection, "himport", prepareArgumentsOf(fieldset));
  }

  /** True when the command goes again after the reconnect. */
  private reconnects(command: Command, error: Error): boolean {
    const decide = this.link.options.reconnectOnError;
    if (typeof decide !== "function" || command.spec.lowerName === "client") return false;
    const verdict = callUser(() => decide(error));
    const { group } = command;
    // A member that goes again alone would run outside of its transaction, and a lone EXEC ends nothing.
    const isMember = group !== null && group.kind === BatchKind.Transaction;
    const goesAgain = verdict === 2 && !isMember;
    if (goesAgain) this.link.requeue(command);
    else if (verdict === 2 && isMember) group.isRefused = true;
    if (verdict === 2 || verdict === true || verdict === 1) this.link.disconnect(true);
    return goesAgain;
  }

  private tuneSocket(): void {
    const socket = this.link.connection?.socket as Partial<import("node:net").Socket> | null;
    const { noDelay, keepAlive } = this.link.options;
    if (noDelay) socket?.setNoDelay?.(true);
    if (typeof keepAlive === "number") socket?.setKeepAlive?.(true, keepAlive);
  }
}
