/**
 * The states of a connection and the allowed transitions. Any other transition is a bug and throws.
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

const NAMES = ["dialing", "handshaking", "ready", "draining", "closed"] as const;

const MOVES: readonly (readonly ConnectionState[])[] = [
  [ConnectionState.Handshaking, ConnectionState.Draining, ConnectionState.Closed],
  [ConnectionState.Ready, ConnectionState.Draining, ConnectionState.Closed],
  [ConnectionState.Draining, ConnectionState.Closed],
  [ConnectionState.Closed],
  [],
];

/** Returns `to`, or throws if the table does not allow the transition. */
export function move(from: ConnectionState, to: ConnectionState): ConnectionState {
  if (!MOVES[from]?.includes(to)) {
    throw new Error(`A connection cannot go from ${NAMES[from]} to ${NAMES[to]}`);
  }
  return to;
}
