/**
 * A second connection to the server of another connection, for requests while that one is blocked. It uses the
 * same address and credentials and sends no client info; its owner closes it.
 */

import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Connection, type ConnectionDeps, type ConnectionLife } from "../connection/connection";
import { beginHandshake, type Credentials, type HandshakeOutcome } from "../connection/handshake";
import { Subscriptions } from "../connection/subscriptions";
import { startTimer, stopTimer } from "../util/scheduling";
import type { ReadHooks } from "./connector";
import { failRequests } from "./leftovers";
import { connectionOptions, type LinkOptions } from "./link-options";
import { socketOptionsOf, withServerName } from "./socket-options";
import { openSocket } from "./tcp-connector";

/** The remote end of a socket; other streams do not know theirs. */
export type Peer = Partial<Pick<Socket, "remoteAddress" | "remotePort">>;

/** A healthy server has answered a question of the client itself by then. */
export const LONGEST_ANSWER_MS = 2000;

/** The collaborators of a connection that serves only the code that opened it. */
export function alone(life: ConnectionLife): ConnectionDeps {
  const subscriptions = new Subscriptions();
  return { life, errorReplies: null, stateReplies: null, subscriptions, messages: null, tracer: null };
}

/** True when another connection can be opened; only a custom connector knows how to reach its server. */
export function canReach(options: LinkOptions, socket: Peer | null): boolean {
  if (socket === null || options.Connector) return false;
  return Boolean(options.path) || socket.remoteAddress !== undefined;
}

/** Opens another socket to the server of a socket. */
export function dialAgain(
  { remoteAddress, remotePort }: Peer,
  options: LinkOptions,
  hooks: ReadHooks,
): Duplex {
  const { path } = options;
  const address = path ? { path } : { host: remoteAddress, port: remotePort };
  // The address is an IP address of one family.
  const { localAddress, tls } = socketOptionsOf(options);
  return openSocket({ ...address, localAddress, tls: withServerName(tls, options.host) }, hooks);
}

/** Runs a handshake without client info. */
export function introduce(
  connection: Connection,
  { protocol }: LinkOptions,
  credentials: Credentials,
): Promise<HandshakeOutcome> {
  const options = { protocol, disableClientInfo: true };
  const introduction = { options, db: 0, credentials };
  return new Promise((onOutcome) => beginHandshake(connection, introduction, { onError() {}, onOutcome }));
}

/** Resolves with a connection that has completed its handshake, or with null. */
export function openBeside(
  socket: Peer,
  options: LinkOptions,
  credentials: Credentials,
): { readonly connection: Connection; readonly opened: Promise<Connection | null> } {
  let settle!: (connection: Connection | null) => void;
  const opened = new Promise<Connection | null>((resolve) => void (settle = resolve));
  const begin = async (): Promise<void> => {
    const outcome = await introduce(connection, options, credentials);
    if (outcome.kind === "ready") connection.markReady();
    else connection.destroy();
    settle(outcome.kind === "ready" ? connection : null);
  };
  const life: ConnectionLife = {
    onOpen: () => void begin().catch(() => connection.destroy()),
    onClose: () => {
      stopTimer(timer);
      failRequests(connection.queue.takeAll());
      settle(null);
    },
  };
  const connection = new Connection(connectionOptions(options), alone(life));
  const timer = startTimer(() => {
    if (connection.readyAtMs === 0) connection.destroy();
  }, LONGEST_ANSWER_MS);
  timer.unref();
  connection.attach(dialAgain(socket, options, connection.onread));
  return { connection, opened };
}
