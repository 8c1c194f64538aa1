/**
 * Sends a PING on a connection that was silent for long, before a command is written to it: the process may
 * have been suspended, and the network may have dropped the connection meanwhile. The command is written after
 * the reply, so its outcome is never in doubt. Without a reply within a few round trips the connection is dead.
 */

import { Origin } from "../command/command";
import { completionOf, ownCommand } from "../command/own-command";
import type { Connection } from "../connection/connection";
import { ReplyError } from "../errors";
import { atTurnEnd, startTimer, stopTimer } from "../util/scheduling";
import { LONGEST_ANSWER_MS } from "./side-connection";

/**
 * The limit for the reply: as long as three handshakes, at least this long and at most `LONGEST_ANSWER_MS`. A distant
 * server needs more than the lower bound.
 */
const LEAST_LIMIT_MS = 200;
const HANDSHAKES = 3;

/**
 * Returns a function that ends the check, because the connection is gone.
 * @param onSilent Called when no reply has arrived within this many milliseconds.
 */
export function checkLine(connection: Connection, onSilent: (limitMs: number) => void): () => void {
  const wantedMs = connection.handshakeMs * HANDSHAKES;
  const limitMs = Math.min(Math.max(wantedMs, LEAST_LIMIT_MS), LONGEST_ANSWER_MS);
  const seenBytes = connection.bytesRead;
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    stopTimer(timer);
  };
  const end = (isAlive: boolean): void => {
    if (isOver) return;
    stop();
    if (isAlive) connection.goOn();
    else onSilent(limitMs);
  };
  const expire = (): void => end(connection.bytesRead !== seenBytes);
  // After a suspension of the process the timer is due while the reply is unread: reading comes first.
  const timer = startTimer(() => atTurnEnd(expire), limitMs);
  // Any reply shows that the connection is alive, also an error about missing rights to PING.
  const completion = completionOf((error) => {
    if (error === null || error instanceof ReplyError) end(true);
    else stop();
  });
  connection.sendAhead(ownCommand(Origin.Connection, "ping", [], completion));
  return stop;
}
