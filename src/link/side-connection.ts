/**
 * A second connection to the server of another connection, for requests while that one is blocked or silent. It uses
 * the same address and credentials and sends no client info; its owner closes it.
 */

import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Connection, type ConnectionLife } from "../connection/connection";
import { type Credentials, Handshake, type HandshakeOutcome } from "../connection/handshake";
import { Subscriptions } from "../connection/subscriptions";
import { startTimer, stopTimer } from "../util/scheduling";
import { toError } from "../util/user-code";
import type { ReadHooks } from "./connector";
import type { CredentialSource } from "./credentials";
import { failRequests } from "./leftovers";
import type { LinkOptions } from "./link-options";
import { socketOptionsOf, withServerName } from "./socket-options";
import { openSocket } from "./tcp-connector";

/** The remote end of a socket; other streams do not know theirs. */
export type Peer = Partial<Pick<Socket, "remoteAddress" | "remotePort">>;

/** In ms: a healthy server answers the client's own requests within this time. */
export const LONGEST_ANSWER_MS = 2000;

/** True when another connection can be opened; only a custom connector knows how to reach its server. */
export function canReach(options: LinkOptions, socket: Peer | null): boolean {
  if (socket === null || options.Connector) return false;
  return Boolean(options.path) || socket.remoteAddress !== undefined;
}

export function dialAgain(
  { remoteAddress, remotePort }: Peer,
  options: LinkOptions,
  hooks: ReadHooks,
): Duplex {
  const { path, host, tls } = options;
  const address = path ? { path } : { host: remoteAddress, port: remotePort };
  // The address is an IP address of one family.
  const settings = socketOptionsOf({ ...options, family: undefined, tls: withServerName(tls, host) });
  return openSocket({ ...settings, ...address }, hooks);
}

export class SideConnection implements ConnectionLife {
  readonly connection: Connection;
  /** The outcome of its handshake; null if it closed before. */
  readonly outcome: Promise<HandshakeOutcome | null>;
  isAccepted = false;
  error: NodeJS.ErrnoException | null = null;
  private settle!: (outcome: HandshakeOutcome | null) => void;

  constructor(
    peer: Peer,
    private readonly options: LinkOptions,
    private readonly credentials: Credentials,
  ) {
    const subscriptions = new Subscriptions();
    const deps = { life: this, subscriptions, replies: null, messages: null, tracer: null };
    this.connection = new Connection(options, deps);
    this.outcome = new Promise((resolve) => {
      this.settle = resolve;
    });
    const socket = dialAgain(peer, options, this.connection.onread);
    // With TLS, long before the connection is open.
    socket.once("connect", () => {
      this.isAccepted = true;
    });
    this.connection.attach(socket);
  }

  /** Resolves with the connection after its handshake, or with null if that fails or takes too long. */
  async opened(): Promise<Connection | null> {
    const timer = startTimer(() => this.connection.destroy(), LONGEST_ANSWER_MS);
    timer.unref();
    const outcome = await this.outcome;
    stopTimer(timer);
    return outcome?.kind === "ready" ? this.connection : null;
  }

  onOpen(): void {
    const { connection, credentials } = this;
    const options = { protocol: this.options.protocol, disableClientInfo: true };
    const onOutcome = (outcome: HandshakeOutcome): void => {
      this.settle(outcome);
      if (outcome.kind === "ready") connection.markReady();
      else connection.destroy();
    };
    try {
      const introduction = { options, databases: [0], credentials };
      new Handshake(connection, introduction, { onError() {}, onOutcome }).begin();
    } catch (error) {
      // Credentials come from outside and may be of any type.
      connection.destroy(toError(error));
    }
  }

  onConnectionError(error: Error): void {
    this.error = error;
  }

  onClose(): void {
    this.settle(null);
    failRequests(this.connection.queue.takeAll());
  }
}

/** Opens a connection beside the current one; null if that was lost. Rejects if the source fails. */
export async function openBeside(
  current: { readonly connection: Connection | null },
  options: LinkOptions,
  source: CredentialSource,
): Promise<SideConnection | null> {
  const { connection } = current;
  const credentials = (await source.credentials()) ?? {};
  if (connection === null || connection.socket === null || current.connection !== connection) return null;
  return new SideConnection(connection.socket as Peer, options, credentials);
}
