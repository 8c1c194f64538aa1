/**
 * The public states of a link and the allowed transitions; any other transition is a bug and throws. A link may
 * be connected again after its end.
 *
 *   wait ------> connecting -> connect -> ready [-> monitoring] -> close -> end
 *                 ^    \__________\_____________________________/    |       |
 *                 |                                                  v       |
 *                 |------------------------------------------- reconnecting  |
 *                 |__________________________________________________________|
 */

import { CommandFlag } from "../command/command-spec";
import { MonitorModeError, SubscriberModeError } from "../errors";

const MOVES = {
  /** Not connected yet: `lazyConnect`. */
  wait: ["connecting", "close"],
  /** The connector resolves an address, or the socket connects. */
  connecting: ["connect", "close", "reconnecting", "end"],
  /** The socket is open, the handshake is running. */
  connect: ["ready", "close"],
  ready: ["monitoring", "close"],
  monitoring: ["close"],
  /** The connection is gone; the next state follows immediately, possibly set by a callback of a command. */
  close: ["reconnecting", "connecting", "end"],
  reconnecting: ["connecting", "end"],
  end: ["connecting"],
} as const satisfies Record<string, readonly string[]>;

export type LinkStatus = keyof typeof MOVES;

/** Returns `to`, or throws if the table does not allow the transition. */
export function moveLink(from: LinkStatus, to: LinkStatus): LinkStatus {
  const moves: readonly LinkStatus[] = MOVES[from];
  if (!moves.includes(to)) throw new Error(`A link cannot go from ${from} to ${to}`);
  return to;
}

/** A connection exists or is being opened. */
export function isConnected(status: LinkStatus): boolean {
  return status === "connecting" || status === "connect" || status === "ready" || status === "monitoring";
}

/** `subscriber` only on a RESP2 connection that has subscriptions. */
export type LinkMode = "normal" | "subscriber" | "monitor";

/** The reason why a command with these flags cannot be sent in the mode, or null. */
export function modeRefusal(mode: LinkMode, flags: number): Error | null {
  if (mode === "monitor" && (flags & CommandFlag.Monitor) === 0) return new MonitorModeError();
  if (mode === "subscriber" && (flags & CommandFlag.ValidInSubscriber) === 0)
    return new SubscriberModeError();
  return null;
}
