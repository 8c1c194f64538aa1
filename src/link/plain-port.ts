/**
 * Determines whether a port that accepts a connection but does not answer the TLS handshake is a port without
 * TLS. Such a server takes the handshake for an incomplete command and waits for the rest, so the attempt would
 * otherwise end only at its time limit.
 */

import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { startTimer, stopTimer } from "../util/scheduling";
import { openSocket } from "./tcp-connector";

/**
 * The silence after which the server is asked. A TLS handshake takes two round trips. A cluster client waits for a node
 * for 1000 ms (`slotsRefreshTimeout`), including the reply.
 */
const SILENCE_MS = 500;
const REPLY_LIMIT_MS = 1000;
/** The first byte of a reply to PING: "PONG", or an error. */
const REPLY = /^[+-]/;

/**
 * Returns a function that ends the check.
 * @param onPlain The server at the other end of the socket answers in plain text.
 */
export function checkPlainPort(
  dialled: Duplex & Partial<Pick<TLSSocket, "encrypted" | "remoteAddress" | "remotePort">>,
  onPlain: () => void,
): () => void {
  if (dialled.encrypted !== true) return () => {};
  let timer: NodeJS.Timeout | undefined;
  let socket: Duplex | undefined;
  const stop = (): void => {
    stopTimer(timer);
    socket?.destroy();
  };
  const ask = (): void => {
    const { remoteAddress, remotePort } = dialled;
    if (remoteAddress === undefined) return;
    socket = openSocket({ host: remoteAddress, port: remotePort });
    socket.on("error", stop);
    socket.once("data", (chunk: Buffer) => {
      stop();
      if (REPLY.test(chunk.toString("latin1", 0, 1))) onPlain();
    });
    socket.write("PING\r\n");
    timer = startTimer(stop, REPLY_LIMIT_MS);
  };
  dialled.once("connect", () => {
    timer = startTimer(ask, SILENCE_MS);
  });
  dialled.once("secureConnect", stop);
  dialled.once("close", stop);
  return stop;
}
