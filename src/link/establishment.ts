/**
 * One attempt to reach the server: from asking the connector for a socket to a connection that
 * passed its handshake; socket and handshake share `connectTimeout`. A server that is still loading its data is
 * asked again until it is done. Tells its owner how it went; a closed socket ends it silently,
 * because the connection itself reports that.
 */

import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Connection } from "../connection/connection";
import { ConnectionState } from "../connection/connection-state";
import {
  type ClientIdentity,
  type Databases,
  type HandshakeOptions,
  type HandshakeOutcome,
  handshake,
  judgeInfo,
  request,
  type ServerInfo,
} from "../connection/handshake";
import { ConnectionClosedError, ConnectTimeoutError, ParserError } from "../errors";
import {
  HINT_ON_PLAIN_PORT,
  hintOnCut,
  hintOnGreeting,
  hintOnRefusal,
  hintOnSilence,
  hintOnTls,
  isForeignToTls,
  isTransientRefusal,
} from "../observability/hints";
import { addHint, markCertain } from "../util/error-hint";
import { startTimer, stopTimer } from "../util/scheduling";
import { isThenable, toError } from "../util/user-code";
import type { AbstractConnector } from "./connector";
import type { CredentialSource, ExpiringCredentials } from "./credentials";
import { PlainPortCheck } from "./plain-port";

export interface EstablishmentOptions extends HandshakeOptions {
  readonly keepAlive?: number | undefined;
  readonly noDelay?: boolean | undefined;
  readonly connectTimeout?: number | undefined;
}

/** Those that say who connects. */
export interface IdentitySource extends CredentialSource {
  readonly identity: ClientIdentity;
}

/** That with which an attempt is made. */
export interface EstablishmentDeps {
  readonly options: EstablishmentOptions;
  readonly connector: AbstractConnector;
  readonly source: IdentitySource;
  /** The server has refused the credentials of the attempt before this one. */
  isLoginRefused: boolean;
}

export interface EstablishmentOwner {
  /** The connector found no way to the server. */
  onUnreachable(error: Error): void;
  /** An error with a name of its own, as connectors report them. */
  onNamedError(type: string, error: Error): void;
  /** The handshake is passed. */
  onEstablished(info: ServerInfo, credentials: ExpiringCredentials): void;
  /** The attempt failed. With `isTransient` the next one may succeed without any change; otherwise the server refused the client. */
  onRefused(error: Error, isTransient: boolean): void;
}

export class Establishment {
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;
  private credentials: ExpiringCredentials = {};
  private asked: ReturnType<IdentitySource["credentials"]> = {};
  private plainPort: PlainPortCheck | null = null;

  constructor(
    private readonly connection: Connection,
    private readonly deps: EstablishmentDeps,
    private readonly owner: EstablishmentOwner,
  ) {}

  /** Dials. The connection tells the link when the socket is open; then comes `introduce`. */
  start(): void {
    this.askForCredentials();
    this.dial().then(
      (socket) => this.takeOver(socket),
      (error: unknown) => {
        if (this.isOver) return;
        this.stop();
        this.owner.onUnreachable(toError(error));
      },
    );
  }

  /** The socket is open. The connection is ready once its database is selected. */
  async introduce(databases: Databases): Promise<void> {
    this.tuneSocket();
    let outcome: HandshakeOutcome;
    try {
      outcome = await this.shakeHands(databases);
    } catch (error) {
      // The source of the credentials failed: it is asked again for the next attempt.
      outcome = { kind: "failed", error: toError(error), isTransient: true };
    }
    this.conclude(outcome);
  }

  /** Ends the attempt: it succeeded, failed, or its connection closed. */
  stop(): void {
    this.isOver = true;
    this.plainPort?.stop();
    stopTimer(this.timer);
    this.timer = undefined;
  }

  /** Beside the dial, so that a slow source costs no time of its own. */
  private askForCredentials(): void {
    const { source, isLoginRefused } = this.deps;
    this.asked = source.credentials(isLoginRefused ? "refused" : "connect");
    // `introduce` reports a failure; the dial may fail before.
    if (isThenable(this.asked)) this.asked.then(null, ignore);
  }

  private tuneSocket(): void {
    const socket = this.connection.socket as Partial<Socket> | null;
    const { noDelay, keepAlive } = this.deps.options;
    if (noDelay) socket?.setNoDelay?.(true);
    if (typeof keepAlive === "number") socket?.setKeepAlive?.(true, keepAlive);
  }

  /** The connector may be the user's: it may throw, and give anything. */
  private async dial(): Promise<Duplex> {
    const emitError = (type: string, error: Error): void => this.owner.onNamedError(type, error);
    const socket: unknown = await this.deps.connector.connect(emitError, this.connection.onread);
    if (isSocket(socket)) return socket;
    throw new TypeError("The connector gave no socket: connect() must resolve with a Duplex stream");
  }

  private takeOver(socket: Duplex): void {
    if (this.isOver) {
      socket.on("error", ignore);
      socket.destroy();
      return;
    }
    // From here on: asking sentinels for an address may go on as long as their retry strategy says.
    this.armTimer();
    this.plainPort = new PlainPortCheck(socket, () => this.connection.destroy(plainPortError()));
    this.connection.attach(socket, this.deps.connector.firstError);
  }

  private async shakeHands(databases: Databases): Promise<HandshakeOutcome> {
    const { options, source } = this.deps;
    this.credentials = await this.asked;
    const introduction = { options, ...databases, credentials: this.credentials, identity: source.identity };
    return handshake(this.connection, introduction, (error) => this.owner.onNamedError("error", error));
  }

  private conclude(outcome: HandshakeOutcome): void {
    if (this.isOver) return;
    stopTimer(this.timer);
    switch (outcome.kind) {
      case "ready":
        this.stop();
        this.deps.isLoginRefused = false;
        this.owner.onEstablished(outcome.info, this.credentials);
        return;
      case "loading":
        this.timer = startTimer(() => void this.askAgain(), outcome.delayMs);
        return;
      case "failed":
        this.stop();
        this.owner.onRefused(outcome.error, outcome.isTransient || this.mayLogInAgain(outcome));
    }
  }

  /** A function may have other credentials by now: it is told of the refusal and asked once more. */
  private mayLogInAgain({ isLogin = false }: { readonly isLogin?: boolean }): boolean {
    const { deps } = this;
    deps.isLoginRefused = isLogin && isThenable(this.asked) && !deps.isLoginRefused;
    return deps.isLoginRefused;
  }

  private async askAgain(): Promise<void> {
    this.armTimer();
    this.conclude(judgeInfo(await request(this.connection, "info", []), this.deps.options));
  }

  private armTimer(): void {
    const limitMs = this.deps.options.connectTimeout;
    if (!limitMs) return;
    this.timer = startTimer(() => this.connection.destroy(this.timeoutError()), limitMs);
  }

  /** Says more than "connect ETIMEDOUT" where the port is open. */
  private timeoutError(): Error {
    const { state } = this.connection;
    const socket = this.connection.socket as { encrypted?: boolean; connecting?: boolean } | null;
    const error = new ConnectTimeoutError();
    if (state === ConnectionState.Handshaking) return addHint(error, hintOnSilence(false));
    const isOpen = socket?.encrypted === true && socket.connecting === false;
    return isOpen ? addHint(error, hintOnSilence(true)) : error;
  }
}

/** Adds to an error reply that refuses the connection why it may do so. True if the next attempt may succeed. */
export function explainTurnedAway(error: Error): boolean {
  addHint(error, hintOnRefusal(error.message, false));
  return isTransientRefusal(error.message);
}

/** Adds to an error of the socket or the parser what it probably means. */
export function explainTrouble(error: Error, connection: Connection | null, usesTls: boolean): Error {
  const isGreeting = connection?.state === ConnectionState.Handshaking;
  if (isGreeting && error instanceof ParserError) {
    const hint = hintOnGreeting(error.message, usesTls);
    return hint === null ? error : markCertain(addHint(error, hint));
  }
  if (usesTls)
    return isForeignToTls(error)
      ? markCertain(addHint(error, hintOnTls(error)))
      : addHint(error, hintOnTls(error));
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

function ignore(): void {}

/** An error that is no news while a connection is being closed on purpose. */
export function isConnectionTrouble(error: Error): boolean {
  const { syscall } = error as NodeJS.ErrnoException;
  return error instanceof ConnectionClosedError || syscall === "connect" || syscall === "read";
}
