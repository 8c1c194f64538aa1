/**
 * The states of a connection, in their order.
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
