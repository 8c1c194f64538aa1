/**
 * The states of a connection, in their order. Any step back is a bug and throws.
 *
 *   dialing -> handshaking -> ready -> draining -> closed
 *      \____________\__________\_________________/
 */

export const ConnectionState = {
  Dialing: 0,
  Handshaking: 1,
  Ready: 2,
  /** The client has half-closed the socket; replies may still arrive. */
  Draining: 3,
  Closed: 4,
} as const;
export type ConnectionState = (typeof ConnectionState)[keyof typeof ConnectionState];

/** Returns `to`, or throws if that is no later state. */
export function move(from: ConnectionState, to: ConnectionState): ConnectionState {
  if (to <= from) throw new Error(`A connection cannot go from ${from} to ${to}`);
  return to;
}
