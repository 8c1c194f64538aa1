/**
 * The life of a connection, and the only moves it may make. Any other move is a bug and throws.
 *
 *   dialing -> handshaking -> ready -> draining -> closed
 *      \____________\__________\_________________/
 */

export const ConnectionState = {
  Dialing: 0,
  Handshaking: 1,
  Ready: 2,
  /** The socket was half-closed by us; replies may still arrive. */
  Draining: 3,
  Closed: 4,
} as const;
export type ConnectionState = (typeof ConnectionState)[keyof typeof ConnectionState];

const NAMES = ["dialing", "handshaking", "ready", "draining", "closed"] as const;

const MOVES: readonly (readonly ConnectionState[])[] = [
  [ConnectionState.Handshaking, ConnectionState.Draining, ConnectionState.Closed],
  [ConnectionState.Ready, ConnectionState.Draining, ConnectionState.Closed],
  [ConnectionState.Draining, ConnectionState.Closed],
  [ConnectionState.Closed],
  [],
];

/** Returns `to`, or throws when the table does not allow the move. */
export function move(from: ConnectionState, to: ConnectionState): ConnectionState {
  if (!MOVES[from]?.includes(to)) {
    throw new Error(`A connection cannot go from ${NAMES[from]} to ${NAMES[to]}`);
  }
  return to;
}
