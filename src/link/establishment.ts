/**
 * One attempt to connect: from the connector's socket to a connection that has completed its handshake. Both
 * steps share `connectTimeout`. A server that is loading its data is asked again until it is ready. Reports
 * the outcome to its owner; a closed socket ends it silently, because the connection itself reports that.
 */

import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import {
  Handshake,
  type HandshakeListener,
  type HandshakeOutcome,
  judgeInfo,
  request,
  type ServerInfo,
} from "../connection/handshake";
import { ConnectionClosedError, ConnectTimeoutError, ParserError } from "../errors";
import {
  HINT_ON_NO_ANSWER,
  HINT_ON_PLAIN_PORT,
  hintOnCertificate,
  hintOnCut,
  hintOnGreeting,
  hintOnRefusal,
  hintOnSilence,
  hintOnTls,
  hintOnUnreachable,
  isForeignToTls,
  isTransientRefusal,
} from "../observability/hints";
import { addHint, markCertain } from "../util/error-hint";
import { startTimer, stopTimer } from "../util/scheduling";
import { isThenable, toError } from "../util/user-code";
import type { AbstractConnector } from "./connector";
import type { CredentialSource, ExpiringCredentials } from "./credentials";
import type { CurrentConnection } from "./current-connection";
import type { LinkOptions } from "./link-options";
import { checkPlainPort } from "./plain-port";

export interface EstablishmentDeps {
  readonly options: LinkOptions;
  readonly connector: AbstractConnector;
  readonly source: CredentialSource;
  /** The server has refused the credentials of the previous attempt. */
  isLoginRefused: boolean;
}

export interface EstablishmentOwner {
  onUnreachable(error: Error): void;
  onNamedError(type: string, error: Error): void;
  /** Undefined: no commands follow the handshake. */
  readonly current?: Pick<CurrentConnection, "early" | "sendEarly" | "withdraw">;
  onEstablished(info: ServerInfo, credentials: ExpiringCredentials): void;
  /** The attempt failed. `isTransient`: the next one may succeed. Otherwise the server refused the client. */
  onRefused(error: Error, isTransient: boolean): void;
}

export class Establishment implements HandshakeListener {
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;
  private credentials: ExpiringCredentials = {};
  private asked: ReturnType<CredentialSource["credentials"]> = {};
  private stopPlainPortCheck: (() => void) | null = null;

  constructor(
    private readonly connection: Connection,
    private readonly deps: EstablishmentDeps,
    private readonly owner: EstablishmentOwner,
  ) {}

  /** Connects. The connection notifies the link when the socket is open; `introduce` follows. */
  start(): void {
    // First, because a connector may choose the server and its login.
    const dialled = this.dial();
    // In parallel with the connect, so that a slow source adds no delay.
    const { source, isLoginRefused } = this.deps;
    this.asked = source.credentials(isLoginRefused ? "refused" : "connect");
    // `introduce` reports a failure; the connect may fail before.
    if (isThenable(this.asked)) this.asked.then(null, () => {});
    dialled.then(
      (socket) => this.takeOver(socket),
      (error: unknown) => {
        if (this.isOver) return;
        this.stop();
        this.owner.onUnreachable(toError(error));
      },
    );
  }

  /** The socket is open. The connection is ready once the last of these databases is selected. */
  async introduce(databases: readonly number[]): Promise<void> {
    const { options } = this.deps;
    this.tuneSocket();
    try {
      const credentials = await this.asked;
      this.credentials = credentials;
      if (!this.isOver) new Handshake(this.connection, { options, databases, credentials }, this).begin();
    } catch (error) {
      // The source of the credentials failed: it is asked again for the next attempt.
      this.onOutcome({ kind: "failed", error: toError(error), isTransient: true });
    }
    if (!this.isOver) this.owner.current?.sendEarly(this.credentials);
  }

  /** Ends the attempt: it succeeded, failed, or its connection closed. */
  stop(): void {
    this.isOver = true;
    this.stopPlainPortCheck?.();
    stopTimer(this.timer);
    this.timer = undefined;
  }

  private tuneSocket(): void {
    const socket = this.connection.socket as Partial<Socket> | null;
    const { noDelay, keepAlive } = this.deps.options;
    if (noDelay) socket?.setNoDelay?.(true);
    if (typeof keepAlive === "number") socket?.setKeepAlive?.(true, keepAlive);
  }

  /** A custom connector may throw, and return anything. */
  private async dial(): Promise<Duplex> {
    const emitError = (type: string, error: Error): void => this.owner.onNamedError(type, error);
    const socket: unknown = await this.deps.connector.connect(emitError, this.connection.onread);
    if (isSocket(socket)) return socket;
    throw new TypeError("The connector returned no socket: connect() must resolve with a Duplex stream");
  }

  private takeOver(socket: Duplex): void {
    if (this.isOver) {
      socket.on("error", () => {});
      socket.destroy();
      return;
    }
    // The limit starts here: Sentinels may be asked for an address as long as their retry strategy allows.
    this.armTimer();
    const onPlain = (): void => this.connection.destroy(plainPortError());
    this.stopPlainPortCheck = checkPlainPort(socket, onPlain);
    this.connection.attach(socket, this.deps.connector.firstError);
  }

  // --- HandshakeListener -------------------------------------------------------------------

  onError(error: Error): void {
    this.owner.onNamedError("error", error);
  }

  isFollowed(): boolean {
    return (this.owner.current?.early.length ?? 0) > 0;
  }

  onSecondLogin(): void {
    if (!this.isOver) this.owner.current?.withdraw(null);
  }

  onOutcome(outcome: HandshakeOutcome): void {
    if (this.isOver) return;
    stopTimer(this.timer);
    switch (outcome.kind) {
      case "ready":
        this.stop();
        this.deps.isLoginRefused = false;
        this.owner.onEstablished(outcome.info, this.credentials);
        return;
      case "loading":
        this.owner.current?.withdraw(null);
        this.timer = startTimer(() => void this.askAgain(), outcome.delayMs);
        return;
      case "failed":
        this.stop();
        this.owner.onRefused(outcome.error, outcome.isTransient || this.mayLogInAgain(outcome));
    }
  }

  /** The function may have other credentials by now: it is called once more, with the refusal as the reason. */
  private mayLogInAgain({ isLogin = false }: { readonly isLogin?: boolean }): boolean {
    const { deps } = this;
    deps.isLoginRefused = isLogin && isThenable(this.asked) && !deps.isLoginRefused;
    return deps.isLoginRefused;
  }

  private async askAgain(): Promise<void> {
    this.armTimer();
    const answer = await request(this.connection, "info", []);
    const { options } = this.deps;
    this.onOutcome(judgeInfo(this.connection, answer, { options, credentials: this.credentials }));
  }

  private armTimer(): void {
    const limitMs = this.deps.options.connectTimeout;
    if (!limitMs) return;
    this.timer = startTimer(() => this.connection.destroy(this.timeoutError()), limitMs);
  }

  /** More specific than "connect ETIMEDOUT" if the port is open. */
  private timeoutError(): Error {
    const { state } = this.connection;
    const socket = this.connection.socket as { encrypted?: boolean; connecting?: boolean } | null;
    const error = new ConnectTimeoutError();
    if (state === ConnectionState.Handshaking) return addHint(error, hintOnSilence(false));
    const isOpen = socket?.encrypted === true && socket.connecting === false;
    if (isOpen) return addHint(error, hintOnSilence(true));
    return addHint(error, socket?.connecting === true ? HINT_ON_NO_ANSWER : null);
  }
}

/** Adds the probable reason to a refusal. Returns true if the next attempt may succeed. */
export function explainTurnedAway(error: Error): boolean {
  addHint(error, hintOnRefusal(error.message, false));
  return isTransientRefusal(error.message);
}

/**
 * Adds the probable cause to an error of the socket or the parser.
 *
 * @param tls The option. A function may return other certificates for the next attempt.
 */
export function explainTrouble(error: Error, connection: Connection | null, tls: unknown): Error {
  const usesTls = Boolean(tls);
  const isGreeting = connection?.state === ConnectionState.Handshaking;
  if (isGreeting && error instanceof ParserError) {
    const hint = hintOnGreeting(error.message, usesTls);
    return hint === null ? error : markCertain(addHint(error, hint));
  }
  addHint(error, hintOnUnreachable(error));
  if (usesTls) {
    const onCertificate = hintOnCertificate(error);
    addHint(error, onCertificate ?? hintOnTls(error));
    const isRefused = onCertificate !== null && typeof tls !== "function";
    return isRefused || isForeignToTls(error) ? markCertain(error) : error;
  }
  return isGreeting && connection.bytesRead === 0 ? addHint(error, hintOnCut(error)) : error;
}

function plainPortError(): Error {
  const error = new ParserError("The server does not speak TLS at this port: it answers in plain text");
  return markCertain(addHint(error, HINT_ON_PLAIN_PORT));
}

function isSocket(value: unknown): value is Duplex {
  const socket = value as Partial<Duplex> | null | undefined;
  return typeof socket?.on === "function" && typeof socket.write === "function";
}

/** An expected error while a connection is being closed on purpose. */
export function isConnectionTrouble(error: Error): boolean {
  const { syscall } = error as NodeJS.ErrnoException;
  return error instanceof ConnectionClosedError || syscall === "connect" || syscall === "read";
}
