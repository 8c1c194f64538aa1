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

export class PlainPortCheck {
  private timer: NodeJS.Timeout | undefined;
  private socket: Duplex | null = null;

  /** @param onPlain The server at the other end of the socket answers in plain text. */
  constructor(
    private readonly dialled: Duplex & Partial<Pick<TLSSocket, "encrypted" | "remoteAddress" | "remotePort">>,
    private readonly onPlain: () => void,
  ) {
    if (dialled.encrypted !== true) return;
    dialled.once("connect", () => {
      this.timer = startTimer(() => this.ask(), SILENCE_MS);
    });
    dialled.once("secureConnect", () => this.stop());
    dialled.once("close", () => this.stop());
  }

  stop(): void {
    stopTimer(this.timer);
    this.socket?.destroy();
    this.socket = null;
  }

  private ask(): void {
    const { remoteAddress, remotePort } = this.dialled;
    if (remoteAddress === undefined) return;
    const socket = openSocket({ host: remoteAddress, port: remotePort });
    this.socket = socket;
    socket.on("error", () => this.stop());
    socket.once("data", (chunk: Buffer) => {
      this.stop();
      if (REPLY.test(chunk.toString("latin1", 0, 1))) this.onPlain();
    });
    socket.write("PING\r\n");
    this.timer = startTimer(() => this.stop(), REPLY_LIMIT_MS);
  }
}
